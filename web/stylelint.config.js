/** Colours and pixel sizes live in styles/tokens.css only; everything else uses var(). */
export default {
  extends: ['stylelint-config-standard', 'stylelint-config-recommended-vue'],
  rules: {
    'color-no-hex': true,
    'color-named': 'never',
    'function-disallowed-list': ['rgb', 'rgba', 'hsl', 'hsla', 'oklch'],
    'unit-disallowed-list': ['px'],
    'selector-class-pattern': null,
    'custom-property-pattern': null,
    'no-descending-specificity': null,
    'declaration-empty-line-before': null,
    'custom-property-empty-line-before': null,
    'rule-empty-line-before': null,
    'at-rule-empty-line-before': null,
    'comment-empty-line-before': null,
    'declaration-block-no-redundant-longhand-properties': null,
    'media-feature-range-notation': null,
    // Safari has no other name for it.
    'property-no-vendor-prefix': [true, { ignoreProperties: ['-webkit-user-select', 'user-select'] }],
  },
  overrides: [
    {
      files: ['src/styles/tokens.css'],
      rules: {
        'color-no-hex': null,
        'unit-disallowed-list': null,
        'function-disallowed-list': null,
        'declaration-block-single-line-max-declarations': null,
        'color-function-notation': null,
        'alpha-value-notation': null,
        'number-max-precision': null,
        'comment-whitespace-inside': null,
        'value-keyword-case': null,
        'color-hex-length': null,
        'length-zero-no-unit': null,
        'color-function-alias-notation': null,
        'selector-attribute-quotes': null,
      },
    },
  ],
}
