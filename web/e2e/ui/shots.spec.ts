import { drawn, test } from './app'

// Pictures for reviewers, not assertions: shots/*.png.
const screens: Record<string, { path: string; text?: string }> = {
  sessions: { path: '/' },
  session: { path: '/s/mac-mini/api-server', text: 'proceed' },
  text: { path: '/s/mac-mini/api-server?v=text', text: 'proceed' },
  ended: { path: '/s/build-01/release-notes', text: 'git log' },
  stop: { path: '/s/mac-mini/api-server?sheet=stop', text: 'proceed' },
  new: { path: '/?sheet=new' },
  hosts: { path: '/hosts' },
  'add-host': { path: '/hosts?sheet=add' },
  settings: { path: '/settings' },
  welcome: { path: '/welcome?scene=unpaired' },
  empty: { path: '/?scene=empty' },
}
const sizes = [
  { width: 360, height: 740, touch: true },
  { width: 390, height: 844, touch: true },
  { width: 1280, height: 800, touch: false },
]

for (const { width, height, touch } of sizes) {
  for (const scheme of ['dark', 'light'] as const) {
    test.describe(`${width} ${scheme}`, () => {
      test.use({
        viewport: { width, height },
        hasTouch: touch,
        isMobile: touch,
        deviceScaleFactor: touch ? 2 : 1,
        colorScheme: scheme,
        serviceWorkers: 'block',
      })
      test('pictures', async ({ page }) => {
        for (const [name, { path, text }] of Object.entries(screens)) {
          await page.goto(path)
          await page.getByRole('heading').first().waitFor()
          if (text) await drawn(page, text)
          await page.screenshot({
            path: `shots/${name}-${width}-${scheme}.png`,
            animations: 'disabled',
          })
          await page.evaluate(() => sessionStorage.clear())
        }
      })
    })
  }
}
