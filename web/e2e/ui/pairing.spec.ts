import { expect, phone, test } from './app'

test.use({ ...phone, serviceWorkers: 'block' })

test('a pairing link signs in, and its ticket is nowhere afterwards', async ({ page }) => {
  const seen: string[] = []
  page.on('request', (request) => seen.push(request.url()))
  await page.goto('/?scene=unpaired#t=good')
  await expect(page.getByRole('heading', { name: 'Sessions' })).toBeVisible()
  expect(new URL(page.url()).hash).toBe('')
  expect(seen.filter((url) => url.includes('good'))).toEqual([])
  expect(await page.evaluate(() => 'agentHelmTicket' in window)).toBe(false)
  await page.goBack()
  expect(page.url()).not.toContain('good')
})

test('a link that was used already says so and offers the code', async ({ page }) => {
  await page.goto('/?scene=unpaired#t=old')
  await expect(page.getByRole('alert')).toContainText('used already')
  await expect(page.getByLabel('Pairing code, six characters')).toBeVisible()
})

test('the code is taken in any spelling and submits itself at the sixth character', async ({ page }) => {
  await page.goto('/?scene=unpaired')
  const code = page.getByLabel('Pairing code, six characters')
  await code.fill('ab3')
  await expect(code).toHaveValue('AB3')
  await code.fill('ab3-x9k')
  await expect(page.getByRole('heading', { name: 'Sessions' })).toBeVisible()
})

test('a wrong code says what to do, and can be tried again', async ({ page }) => {
  await page.goto('/?scene=unpaired')
  const code = page.getByLabel('Pairing code, six characters')
  await code.fill('ZZZZZZ')
  await expect(page.getByRole('alert')).toContainText('Make a new one on the server')
  await code.fill('AB3X9K')
  await expect(page.getByRole('heading', { name: 'Sessions' })).toBeVisible()
})
