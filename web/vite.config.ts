import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath, URL } from 'node:url'
import vue from '@vitejs/plugin-vue'
import { defineConfig, type Plugin } from 'vite'
import { VitePWA } from 'vite-plugin-pwa'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

/** What the server sends with every response; `vite preview` sends it too, so that UI tests run under it. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' blob: data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types vue',
].join('; ')

/** The commit this build comes from; the app compares it with /version.json to see a newer build. */
function buildCommit(): string {
  if (process.env.AGENT_HELM_COMMIT) return process.env.AGENT_HELM_COMMIT
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}

/** A build empties dist; the committed page that stands in for the app must come out of it unchanged. */
function keepPlaceholder(): Plugin {
  const source = readFileSync(path('./dist/placeholder.html'), 'utf8')
  return {
    name: 'agent-helm:keep-placeholder',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'placeholder.html', source })
    },
  }
}

/** Writes version.json beside index.html (never precached: it must come from the network). */
function versionFile(commit: string): Plugin {
  return {
    name: 'agent-helm:version-file',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'version.json', source: JSON.stringify({ commit }) + '\n' })
    },
  }
}

export default defineConfig(() => {
  const commit = buildCommit()
  const alias = { '@': path('./src') }
  return {
    resolve: { alias },
    define: { __COMMIT__: JSON.stringify(commit) },
    plugins: [
      vue(),
      versionFile(commit),
      keepPlaceholder(),
      VitePWA({
        strategies: 'injectManifest',
        srcDir: 'src/sw',
        filename: 'sw.ts',
        injectRegister: null,
        manifest: false,
        injectManifest: {
          globPatterns: ['**/*.{js,css,html,webmanifest,svg}', 'icons/icon-192.png'],
          globIgnores: ['sw.js', 'placeholder.html'],
        },
        devOptions: { enabled: false },
      }),
    ],
    server: {
      host: '127.0.0.1',
      // The table of terminal queries is internal/vt's, above this folder.
      fs: { allow: ['..'] },
      proxy: { '/api': { target: 'http://127.0.0.1:7777', ws: true } },
    },
    preview: { headers: { 'Content-Security-Policy': contentSecurityPolicy } },
    build: {
      target: 'es2022',
      outDir: 'dist',
      emptyOutDir: true,
      modulePreload: { polyfill: false },
      rollupOptions: {
        output: {
          manualChunks(id) {
            if (id.includes('/node_modules/@xterm/')) {
              const addon = /@xterm\/addon-(search|webgl|web-links|serialize|unicode11)/.exec(id)
              return addon ? `term-${addon[1]}` : 'terminal'
            }
            // Must run before Vue does, so it cannot share a chunk with what imports Vue.
            if (id.endsWith('/src/trustedTypes.ts')) return 'trusted-types'
            if (/\/node_modules\/(vue|@vue|vue-router|pinia)\//.test(id)) return 'vue'
            return undefined
          },
        },
      },
    },
  }
})
