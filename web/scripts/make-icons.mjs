// Draws the PNG icons from design/icon.svg and design/icon-mono.svg (kept in public/) with the system Chromium.
// Run `npm run icons` after changing the drawing; the PNGs are committed.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { chromium } from '@playwright/test'

const root = new URL('..', import.meta.url).pathname
const out = `${root}public/icons/`
mkdirSync(out, { recursive: true })

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
})
/** inset: part of the edge left free on every side; radius: corner, as part of the edge. */
async function draw(svg, name, size, { radius = 0, transparent = false } = {}) {
  const page = await browser.newPage({ viewport: { width: size, height: size } })
  const source = readFileSync(`${root}public/${svg}`).toString('base64')
  await page.setContent(
    `<style>body{margin:0}img{display:block;width:100vw;height:100vh;border-radius:${radius * 100}%}</style>` +
      `<img src="data:image/svg+xml;base64,${source}">`,
  )
  writeFileSync(`${out}${name}`, await page.screenshot({ omitBackground: transparent || radius > 0 }))
  await page.close()
}
await draw('icon.svg', 'icon-192.png', 192, { radius: 0.22 })
await draw('icon.svg', 'icon-512.png', 512, { radius: 0.22 })
await draw('icon.svg', 'maskable-192.png', 192)
await draw('icon.svg', 'maskable-512.png', 512)
await draw('icon.svg', 'apple-touch-icon.png', 180)
await draw('icon-mono.svg', 'badge-96.png', 96, { transparent: true })
await browser.close()
