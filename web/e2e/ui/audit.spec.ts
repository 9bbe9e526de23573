import { readFile } from 'node:fs/promises'
import { expect, phone, test } from './app'

test.use({ ...phone, serviceWorkers: 'block' })

test('the audit is told in sentences, newest first, under days', async ({ page }) => {
  await page.goto('/settings')
  await page.getByRole('link', { name: /Audit/ }).tap()
  await expect(page.getByRole('heading', { name: 'Audit', exact: true })).toBeVisible()
  const lines = page.getByRole('main').getByRole('listitem')
  await expect(lines.first()).toContainText(
    'This device made the token answers-for-refactor-auth, may see, answer',
  )
  await expect(lines.nth(1)).toContainText('This device made a link to watch refactor-auth')
  await expect(lines.nth(2)).toContainText('Somebody typed a wrong code')
  await expect(lines.nth(2)).toContainText('from 203.0.113.9')
  await expect(lines.nth(4)).toContainText('Host build-01 asked for a code for a new device')
  await expect(lines.nth(6)).toContainText(
    'Firefox on Linux was paired by a link made by console, may do everything',
  )
  await expect(lines.nth(9)).toContainText('The server’s console made a link for a new device')
  await expect(page.getByRole('heading', { level: 2 }).first()).toHaveText(/Today|Yesterday/)
})

test('older lines come by the page, and the last page ends it', async ({ page }) => {
  await page.goto('/settings/audit')
  const lines = page.getByRole('main').getByRole('listitem')
  await expect(lines).toHaveCount(50)
  const older = page.getByRole('button', { name: 'Older' })
  await older.tap()
  await expect(lines).toHaveCount(100)
  await older.tap()
  await expect(lines).toHaveCount(120)
  await expect(older).toBeHidden()
})

test('filters narrow it, stand in the address, and are taken back', async ({ page }) => {
  await page.goto('/settings/audit')
  const lines = page.getByRole('main').getByRole('listitem')
  await expect(lines).toHaveCount(50)
  await page.getByLabel('What').selectOption({ label: 'Codes' })
  await expect(lines).toHaveCount(2)
  expect(new URL(page.url()).search).toContain('kind=code')
  await page.getByLabel('What').selectOption({ label: 'Everything' })
  await page.getByLabel('Who').selectOption({ label: 'Old tablet' })
  await expect(lines).toHaveCount(1)
  await page.reload()
  await expect(lines).toHaveCount(1)
  await page.getByLabel('Who').selectOption({ label: 'This phone (this device)' })
  await page.getByLabel('Session').selectOption({ label: 'refactor-auth on mac-mini' })
  await expect(lines.first()).toContainText('made a link to watch refactor-auth')
  await page.getByLabel('What').selectOption({ label: 'Tokens' })
  await expect(page.getByText('No line fits these filters.')).toBeVisible()
  await page.getByRole('button', { name: 'Show everything' }).tap()
  await expect(lines).toHaveCount(50)
  expect(new URL(page.url()).search).toBe('')
})

test('what fits the filters is exported as JSON lines', async ({ page }) => {
  await page.goto('/settings/audit?kind=code')
  await expect(page.getByRole('main').getByRole('listitem')).toHaveCount(2)
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: /Export these lines/ }).tap()
  const file = await download
  expect(file.suggestedFilename()).toMatch(/^agent-helm-audit-\d{4}-\d\d-\d\d\.jsonl$/)
  const written = (await readFile(await file.path(), 'utf8')).trimEnd().split('\n')
  expect(written.map((line) => JSON.parse(line).action)).toEqual(['code.failed', 'code.cancelled'])
})

test('without a connection it says where the audit is', async ({ page }) => {
  await page.goto('/settings/audit?scene=unreachable')
  await expect(page.getByRole('heading', { name: 'The audit is on the server' })).toBeVisible()
})

test('a device that may not read it is told who may', async ({ page }) => {
  await page.goto('/settings/audit?scene=limited')
  await expect(page.getByRole('heading', { name: 'Not for this device' })).toBeVisible()
  const paths = await page.evaluate(() => window.mock.requests.map(({ path }) => path))
  expect(paths.filter((path) => path.startsWith('/audit'))).toEqual([])
})
