import js from '@eslint/js'
import prettier from 'eslint-config-prettier'
import vue from 'eslint-plugin-vue'
import vueA11y from 'eslint-plugin-vuejs-accessibility'
import globals from 'globals'
import ts from 'typescript-eslint'

/** The rooms of src in the order data arrives. A room may import the rooms named here and itself, nothing else of ours. */
const rooms = {
  wire: [],
  link: ['wire'],
  api: [],
  stores: ['wire', 'link', 'api'],
  term: ['wire', 'link'],
  composables: ['stores'],
  ui: ['composables'],
  features: ['stores', 'term', 'link', 'composables', 'ui'],
  shell: ['stores', 'composables', 'ui', 'features'],
}

/** Rooms that must not know Vue: they are tested without it and never make bytes reactive. */
const withoutVue = ['wire', 'link', 'term']

function border(room, allowed) {
  const forbidden = [...Object.keys(rooms), 'mock'].filter(
    (other) => other !== room && !allowed.includes(other),
  )
  const patterns = [
    {
      group: forbidden.flatMap((other) => [`@/${other}`, `@/${other}/**`, `**/../${other}/**`]),
      message: `src/${room} may import only ${allowed.join(', ') || 'itself'} (see eslint.config.js).`,
    },
  ]
  if (withoutVue.includes(room)) {
    patterns.push({
      group: ['vue', 'vue-router', 'pinia', '*.vue'],
      message: `src/${room} stays free of Vue.`,
    })
  }
  if (room === 'features') {
    patterns.push({ group: ['@/features/**', '../**'], message: 'Features never import each other.' })
  }
  return {
    files: [`src/${room}/**/*.{ts,vue}`],
    rules: { 'no-restricted-imports': ['error', { patterns }] },
  }
}

export default [
  { ignores: ['dist/**', '.mock-dist/**', 'test-results/**', 'playwright-report/**', 'src/api/schema.d.ts'] },
  js.configs.recommended,
  ...ts.configs.recommended,
  ...vue.configs['flat/recommended'],
  ...vueA11y.configs['flat/recommended'],
  {
    files: ['**/*.vue'],
    languageOptions: { parserOptions: { parser: ts.parser } },
  },
  {
    files: ['src/**/*.{ts,vue}', 'mock/**/*.ts'],
    languageOptions: { globals: { ...globals.browser, __COMMIT__: 'readonly' } },
    rules: {
      'no-console': 'error',
      'no-undef': 'off', // the type checker knows better
      'no-restricted-globals': ['error', { name: 'event', message: 'Use the handler argument.' }],
      'vue/component-api-style': ['error', ['script-setup']],
      'vue/block-order': ['error', { order: ['script', 'template', 'style'] }],
      'vue/block-lang': ['error', { script: { lang: 'ts' } }],
      'vue/define-macros-order': 'error',
      'vue/no-v-html': 'error',
      'vue/multi-word-component-names': 'off',
      'vue/require-default-prop': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
      // A label wraps or names its control; asking for both at once forbids the plain `for`.
      'vuejs-accessibility/label-has-for': ['error', { required: { some: ['nesting', 'id'] } }],
      // The rule cannot see that a focus move follows a person's own tap.
      'vuejs-accessibility/no-autofocus': 'error',
    },
  },
  {
    // Only these rooms speak to the network.
    files: ['src/{term,composables,ui,features,shell}/**/*.{ts,vue}'],
    rules: {
      'no-restricted-globals': [
        'error',
        { name: 'fetch', message: 'Screens use stores; only src/api and src/link speak to the server.' },
        { name: 'WebSocket', message: 'Screens use stores; only src/link opens a socket.' },
      ],
    },
  },
  ...Object.entries(rooms).map(([room, allowed]) => border(room, allowed)),
  {
    files: ['*.config.{js,ts}', 'scripts/**', 'e2e/**/*.ts'],
    languageOptions: { globals: { ...globals.node, ...globals.browser } },
  },
  // Playwright asks for `({}, use) =>` where a fixture needs no other.
  { files: ['e2e/**/*.ts'], rules: { 'no-empty-pattern': 'off' } },
  { files: ['public/**/*.js'], languageOptions: { sourceType: 'script', globals: globals.browser } },
  prettier,
]
