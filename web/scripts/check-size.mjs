// Fails the build when the app outgrows its budgets (brotli, as served). Run by `npm run build`.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'

const dist = new URL('../dist/', import.meta.url).pathname
const assets = readdirSync(join(dist, 'assets'))
const brotli = (file) => brotliCompressSync(readFileSync(join(dist, file))).length
const sum = (files) => files.reduce((total, file) => total + brotli(file), 0)

// Critical is what index.html asks for, plus every chunk those import statically.
const html = readFileSync(join(dist, 'index.html'), 'utf8')
const critical = new Set()
const queue = [...html.matchAll(/(?:src|href)="\/((?:assets\/)?[\w.-]+\.(?:js|css))"/g)].map(
  (match) => match[1],
)
while (queue.length > 0) {
  const file = queue.pop()
  if (critical.has(file)) continue
  critical.add(file)
  if (!file.endsWith('.js')) continue
  const source = readFileSync(join(dist, file), 'utf8')
  for (const [, name] of source.matchAll(/(?:from|import)\s*["']\.\/([\w.-]+\.js)["']/g))
    queue.push(`assets/${name}`)
}
const terminal = assets
  .filter((name) => /^(terminal|term-unicode11|term-web-links)-/.test(name))
  .map((name) => `assets/${name}`)

const budgets = [
  ['critical JavaScript', [...critical].filter((file) => file.endsWith('.js')), 120 * 1024],
  ['critical CSS', [...critical].filter((file) => file.endsWith('.css')), 15 * 1024],
  ['index.html', ['index.html'], 5 * 1024],
  ['terminal chunk', terminal, 100 * 1024],
]

let over = false
for (const [name, files, limit] of budgets) {
  const size = sum(files)
  over ||= size > limit
  const verdict = size > limit ? 'OVER' : 'ok'
  console.log(
    `${name.padEnd(20)} ${(size / 1024).toFixed(1).padStart(7)} KiB br of ${limit / 1024} KiB  ${verdict}`,
  )
}
if ([...critical].some((file) => /^assets\/term/.test(file))) {
  console.error('The terminal chunk is loaded with the first screen; it must stay lazy.')
  over = true
}
process.exit(over ? 1 : 0)
