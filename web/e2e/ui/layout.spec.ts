import { drawn, expect, test } from './app'

test.use({ serviceWorkers: 'block', hasTouch: true, isMobile: true })

const screens = [
  '/',
  '/s/mac-mini/api-server',
  '/hosts',
  '/settings',
  '/settings/devices',
  '/settings/devices?sheet=new-token',
  '/settings/devices?sheet=device&id=d2',
  '/settings/audit',
  '/welcome',
  '/?sheet=new',
  '/hosts?sheet=add',
]

for (const width of [320, 360, 390, 430]) {
  test(`nothing overflows at ${width} px, and fingers find every target`, async ({ page }) => {
    await page.setViewportSize({ width, height: 740 })
    for (const path of screens) {
      await page.goto(path)
      await expect(page.getByRole('heading', { level: path.includes('sheet') ? 2 : 1 }).first()).toBeVisible()
      if (path.startsWith('/s/')) await drawn(page, 'proceed')
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
        path,
      ).toBeLessThanOrEqual(0)
      const small = await page.evaluate(() => {
        const targets = document.querySelectorAll(
          'button, a, [role="switch"], textarea:not([disabled]), select',
        )
        return [...targets].flatMap((target) => {
          const { width, height } = target.getBoundingClientRect()
          if (width === 0 || target.closest('[inert]')) return []
          const name = target.getAttribute('aria-label') ?? target.textContent?.trim().slice(0, 30)
          return height < 43.5 || width < 38 ? [`${name}: ${width} × ${height}`] : []
        })
      })
      expect(small, path).toEqual([])
    }
  })
}

test('fields are 16 px, so that iOS does not zoom into them', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 })
  for (const path of ['/s/mac-mini/api-server', '/?sheet=new', '/welcome']) {
    await page.goto(path)
    await page.getByRole('heading').first().waitFor()
    const sizes = await page.evaluate(() =>
      [
        ...document.querySelectorAll(
          'input:not([type="radio"], [type="checkbox"]), textarea:not([disabled])',
        ),
      ].map((field) => Number.parseFloat(getComputedStyle(field).fontSize)),
    )
    expect(Math.min(...sizes, 16), path).toBeGreaterThanOrEqual(16)
  }
})

test('the page can be zoomed', async ({ page }) => {
  await page.goto('/')
  const content = await page.locator('meta[name="viewport"]').getAttribute('content')
  expect(content).toBe(
    'width=device-width, initial-scale=1, viewport-fit=cover, interactive-widget=resizes-content',
  )
})

test('54 columns fit a phone of 390 px at 12 px', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto('/s/mac-mini/refactor-auth')
  await drawn(page, 'accept edits on')
  await page.getByRole('button', { name: 'Session menu' }).tap()
  await page.getByRole('menuitem', { name: 'Fit to this phone' }).tap()
  await expect
    .poll(() => page.evaluate(() => window.mock.resizes.at(-1)?.cols ?? 0))
    .toBeGreaterThanOrEqual(54)
})
