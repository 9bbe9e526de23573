import { drawn, test } from './app'

// Pictures for reviewers, not assertions: shots/*.png.
interface Picture {
  path: string
  /** What the terminal shows by then. */
  text?: string
  /** A button that is pressed first. */
  tap?: string
  /** What is looked for. */
  find?: string
  /** Another device was paired meanwhile. */
  newcomer?: boolean
  /** This device's access ended meanwhile. */
  end?: 'revoked' | 'unauthenticated'
}

const screens: Record<string, Picture> = {
  sessions: { path: '/' },
  session: { path: '/s/mac-mini/api-server', text: 'proceed' },
  text: { path: '/s/mac-mini/api-server?v=text', text: 'proceed' },
  ended: { path: '/s/build-01/release-notes', text: 'git log' },
  stop: { path: '/s/mac-mini/api-server?sheet=stop', text: 'proceed' },
  new: { path: '/?sheet=new' },
  hosts: { path: '/hosts' },
  'add-host': { path: '/hosts?sheet=add' },
  settings: { path: '/settings' },
  devices: { path: '/settings/devices' },
  device: { path: '/settings/devices?sheet=device&id=d2', tap: 'End access…' },
  'new-token': { path: '/settings/devices?sheet=new-token' },
  'sign-out': { path: '/settings/devices?sheet=sign-out' },
  audit: { path: '/settings/audit' },
  welcome: { path: '/welcome?scene=unpaired' },
  share: { path: '/s/mac-mini/refactor-auth?sheet=share', text: 'accept edits', tap: 'Make a link' },
  find: { path: '/s/mac-mini/refactor-auth?v=find', text: 'accept edits', find: 'internal' },
  guest: { path: '/s/mac-mini/refactor-auth?scene=guest', text: 'accept edits' },
  newcomer: { path: '/', newcomer: true },
  revoked: { path: '/', end: 'revoked' },
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
        test.slow() // dozens of screens
        for (const [name, { path, text, ...then }] of Object.entries(screens)) {
          await page.goto(path)
          await page.getByRole('heading').first().waitFor()
          if (text) await drawn(page, text)
          const { tap, find, newcomer, end } = then
          if (tap) await page.getByRole('button', { name: tap }).click()
          if (find) {
            await page.getByRole('searchbox', { name: 'Find in this session' }).fill(find)
            await page.getByText(/^1 of /).waitFor()
          }
          if (newcomer) {
            await page.evaluate(() =>
              window.mock.pair({ id: 'd9', name: 'Chrome on Windows', address: '203.0.113.9' }),
            )
            await page.evaluate(() => window.mock.ask('K7QP', 'mac-mini'))
            await page.getByRole('alert').nth(1).waitFor()
          }
          if (end) {
            await page.evaluate((why) => window.mock.end(why), end)
            await page.getByLabel('Pairing code, six characters').waitFor()
          }
          await page.screenshot({
            path: `shots/${name}-${width}-${scheme}.png`,
            animations: 'disabled',
          })
          await page.evaluate(() => {
            sessionStorage.clear()
            localStorage.clear()
          })
        }
      })
    })
  }
}
