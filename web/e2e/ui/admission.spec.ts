import AxeBuilder from '@axe-core/playwright'
import type { Page } from '@playwright/test'
import { drawn, expect, test } from './app'

test.use({ serviceWorkers: 'block', hasTouch: true, isMobile: true })

const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 27_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/27.2 Mobile/15E148 Safari/604.1'
const heading = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor()

/** Screens of coming in and going out that an address alone does not show. */
const screens: Record<string, (page: Page) => Promise<unknown>> = {
  async notices(page) {
    await page.goto('/')
    await page.getByRole('link', { name: /refactor-auth/ }).waitFor()
    await page.evaluate(() => {
      window.mock.ask('K7QP', 'a-host-with-a-name-that-is-rather-long-for-a-phone')
      window.mock.pair({
        id: 'd9',
        name: 'Chrome on Windows',
        address: '2001:db8:1234:5678:9abc:def0:1234:5678',
      })
    })
    await page.getByRole('alert').nth(1).waitFor()
  },
  async 'a link to share'(page) {
    await page.goto('/s/mac-mini/refactor-auth?sheet=share')
    await page.getByRole('button', { name: 'Make a link' }).tap()
    await page.evaluate(() =>
      window.mock.pair({ id: 'g1', name: 'Safari on Mac', address: '192.0.2.7', guest: true }),
    )
    await page.getByText('The link was opened').waitFor()
  },
  async finding(page) {
    await page.goto('/s/mac-mini/refactor-auth?v=find')
    await page.getByRole('searchbox', { name: 'Find in this session' }).fill('internal')
    await page.getByText(/^1 of /).waitFor()
  },
  async 'a guest’s session'(page) {
    await page.goto('/?scene=guest')
    await drawn(page, 'accept edits on')
  },
  async revoked(page) {
    await page.goto('/')
    await page.getByRole('link', { name: /refactor-auth/ }).waitFor()
    await page.evaluate(() => window.mock.end('revoked'))
    await heading(page, 'This device’s access was ended')
  },
  async 'a guest whose time is over'(page) {
    await page.goto('/?scene=guest')
    await drawn(page, 'accept edits on')
    await page.evaluate(() => window.mock.end('unauthenticated'))
    await heading(page, 'Your time to watch is over')
  },
  async 'a browser with its own access'(page) {
    await page.addInitScript(() =>
      localStorage.setItem('agent-helm.pairing', JSON.stringify({ name: 'My phone', scopes: ['admin'] })),
    )
    await page.goto('/watch#t=good')
    await heading(page, 'This browser has its own access')
  },
  async 'a new host that came'(page) {
    await page.goto('/hosts?sheet=add')
    await page.getByText('Waiting for the new host').waitFor()
    await page.evaluate(() => window.mock.host('attic', true))
    await page.getByText('is connected.').waitFor()
  },
}

const onIphone: typeof screens = {
  async 'installing first'(page) {
    await page.goto('/?scene=unpaired#t=good')
    await heading(page, 'Put it on the Home Screen')
  },
  async 'the last step'(page) {
    await page.addInitScript(() => {
      const real = window.matchMedia.bind(window)
      window.matchMedia = (query) => (query.includes('standalone') ? real('all') : real(query))
    })
    await page.goto('/?scene=unpaired')
    await page.getByLabel('Pairing code, six characters').fill('AB3X9K')
    await heading(page, 'This phone is paired')
  },
}

/** Nothing is cut off, fingers find every target, and axe has nothing to say. */
async function inOrder(page: Page, name: string) {
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
  const small = await page.evaluate(() =>
    [...document.querySelectorAll('main button, dialog[open] button, [role=alert] button, a')].flatMap(
      (target) => {
        const { width, height } = target.getBoundingClientRect()
        const what = target.getAttribute('aria-label') ?? target.textContent?.trim()
        return width > 0 && (height < 43.5 || width < 43.5) ? [`${what}: ${width} × ${height}`] : []
      },
    ),
  )
  expect(small).toEqual([])
  const { violations } = await new AxeBuilder({ page }).exclude('.term-container').analyze()
  expect(violations.map((violation) => [violation.id, violation.nodes.map((node) => node.html)])).toEqual([])
  // For reviewers, beside the pictures of shots.spec.ts.
  const size = page.viewportSize()!
  const theme = await page.evaluate(() => document.documentElement.dataset.theme)
  await page.screenshot({ path: `shots/admission-${name.replace(/\W+/g, '-')}-${size.width}-${theme}.png` })
}

for (const [width, colorScheme] of [
  [320, 'dark'],
  [390, 'light'],
] as const) {
  test.describe(`${width} px, ${colorScheme}`, () => {
    test.use({ viewport: { width, height: 740 }, colorScheme, contextOptions: { reducedMotion: 'reduce' } })
    for (const [name, open] of Object.entries(screens)) {
      test(name, async ({ page }) => {
        await open(page)
        await inOrder(page, name)
      })
    }
    test.describe('on an iPhone', () => {
      test.use({ userAgent: iphone })
      for (const [name, open] of Object.entries(onIphone)) {
        test(name, async ({ page }) => {
          await open(page)
          await inOrder(page, name)
        })
      }
    })
  })
}
