import { drag, drawn, expect, phone, test, typed } from './app'

test.use({ ...phone, serviceWorkers: 'block' })

test('on loss the last frame stays, its age is shown, and it comes back by itself', async ({ page }) => {
  await page.goto('/s/mac-mini/refactor-auth')
  await drawn(page, 'accept edits on')
  await page.evaluate(() => window.mock.cut(true))
  await expect(page.getByText(/screen is \d+ s old/)).toBeVisible()
  await drawn(page, 'accept edits on')
  await page.evaluate(() => window.mock.restore())
  await expect(page.getByText(/screen is/)).toBeHidden()
  await drawn(page, 'accept edits on')
})

test('a key typed while away is said to wait, and arrives once when back in time', async ({ page }) => {
  await page.goto('/s/mac-mini/refactor-auth')
  await drawn(page, 'accept edits on')
  await page.evaluate(() => window.mock.cut(true))
  await page.getByRole('button', { name: 'Up', exact: true }).tap()
  await expect(page.getByText(/1 input not sent yet/)).toBeVisible()
  await page.evaluate(() => window.mock.restore())
  await expect.poll(() => typed(page)).toEqual(['keys up'])
  await expect(page.getByText(/not sent yet/)).toBeHidden()
})

test('what was typed too long ago comes back and goes out only by choice', async ({ page }) => {
  await page.clock.install()
  await page.goto('/s/mac-mini/refactor-auth')
  await drawn(page, 'accept edits on')
  await page.evaluate(() => window.mock.cut(true))
  await page.getByPlaceholder('Message claude…').fill('and push it')
  await page.getByRole('button', { name: 'Send' }).tap()
  await page.clock.runFor(15_000)
  const returned = page.getByRole('alert', { name: 'Not sent' })
  await expect(returned).toContainText('and push it')
  await page.evaluate(() => window.mock.restore())
  await page.clock.runFor(20_000)
  expect(await typed(page)).toEqual([])
  await returned.getByRole('button', { name: 'Put into the message' }).tap()
  await expect(page.getByPlaceholder('Message claude…')).toHaveValue('and push it')
  await expect(returned).toBeHidden()
})

test('while reading further up new output does not move the view', async ({ page }) => {
  await page.goto('/s/mac-mini/refactor-auth')
  await drawn(page, 'accept edits on')
  await drag(page, 120, 420)
  const pill = page.getByRole('button', { name: /new|To the end/ })
  await expect(pill).toBeVisible()
  await page.evaluate(() => window.mock.print('refactor-auth', '\r\nmore\r\nand more'))
  await expect(pill).toHaveText(/[12] new/)
  await pill.tap()
  await expect(pill).toBeHidden()
  expect(await page.evaluate(() => document.activeElement?.tagName)).not.toBe('TEXTAREA')
})

test('a session whose size another screen owns is shown as it is and can be taken', async ({ page }) => {
  await page.goto('/')
  await expect(page.getByRole('link', { name: /refactor-auth/ })).toBeVisible()
  await page.evaluate(() =>
    window.mock.change('refactor-auth', { size_owner: { kind: 'local', mine: false }, cols: 120, rows: 30 }),
  )
  await page.getByRole('link', { name: /refactor-auth/ }).tap()
  await expect(page.getByText(/120 × 30, size of/)).toBeVisible()
  expect(await page.evaluate(() => window.mock.resizes)).toEqual([])
  await page.getByRole('button', { name: 'Fit to phone' }).tap()
  await expect(page.getByText(/120 × 30, size of/)).toBeHidden()
  const resizes = await page.evaluate(() => window.mock.resizes)
  expect(resizes).toHaveLength(1)
  expect(resizes[0]?.cols).toBeGreaterThanOrEqual(54)
})
