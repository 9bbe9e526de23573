import AxeBuilder from '@axe-core/playwright'
import { desk, expect, phone, test } from './app'

test.use({ serviceWorkers: 'block' })

const screens: Record<string, string> = {
  sessions: '/',
  'no host yet': '/?scene=no-hosts',
  session: '/s/mac-mini/api-server',
  'session as text': '/s/mac-mini/api-server?v=text',
  'ended session': '/s/build-01/release-notes',
  'stop sheet': '/s/mac-mini/api-server?sheet=stop',
  'new session': '/?sheet=new',
  'share sheet': '/s/mac-mini/refactor-auth?sheet=share',
  'finding in a session': '/s/mac-mini/refactor-auth?v=find',
  'a guest’s session': '/s/mac-mini/refactor-auth?scene=guest',
  hosts: '/hosts',
  'adding a host': '/hosts?sheet=add',
  settings: '/settings',
  devices: '/settings/devices',
  'devices, limited': '/settings/devices?scene=limited',
  'a device': '/settings/devices?sheet=device&id=d2',
  'a new token': '/settings/devices?sheet=new-token',
  'signing out': '/settings/devices?sheet=sign-out',
  audit: '/settings/audit',
  pairing: '/welcome?scene=unpaired',
  'a used invitation': '/watch?scene=unpaired#t=old',
}

for (const [device, options] of Object.entries({ phone, desk })) {
  for (const theme of ['dark', 'light', 'contrast']) {
    test.describe(`${device}, ${theme}`, () => {
      test.use(options)
      for (const [name, path] of Object.entries(screens)) {
        test(name, async ({ page }) => {
          await page.addInitScript((chosen) => {
            localStorage.setItem('agent-helm.prefs', JSON.stringify({ theme: chosen }))
          }, theme)
          await page.emulateMedia({ reducedMotion: 'reduce' })
          await page.goto(path)
          await page.getByRole('heading').first().waitFor()
          if (path.includes('sheet=')) await page.getByRole('dialog').waitFor()
          await expect(page.getByRole('status', { name: /^Loading/ })).toHaveCount(0)
          const found = await new AxeBuilder({ page })
            // What programs print is theirs; xterm raises its contrast by itself.
            .exclude('.term-container')
            .analyze()
          expect(
            found.violations.map((violation) => [violation.id, violation.nodes.map((node) => node.html)]),
          ).toEqual([])
        })
      }
    })
  }
}
