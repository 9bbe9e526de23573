import { expect, phone, test } from './app'

test.use({ ...phone, serviceWorkers: 'block' })

test('adding a host shows one line to copy, with a code in it', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto('/hosts')
  await page.getByRole('button', { name: 'Add a host' }).last().tap()
  await expect(page.getByLabel('Command for the new host')).toHaveText(
    /^agent-helm pair http:\/\/127\.0\.0\.1:\d+ K7QP2M && agent-helm daemon$/,
  )
  await page.getByRole('button', { name: 'Copy' }).tap()
  await expect(page.getByRole('button', { name: 'Copied' })).toBeVisible()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('agent-helm pair')
})

test('adding a host waits until it is there', async ({ page }) => {
  await page.goto('/hosts?sheet=add')
  const sheet = page.getByRole('dialog', { name: 'Add a host' })
  await expect(sheet.getByRole('status')).toContainText('Waiting for the new host')
  await page.evaluate(() => window.mock.host('attic', false))
  await expect(sheet.getByRole('status')).toContainText('attic is paired. Waiting until it connects')
  await page.evaluate(() => window.mock.host('attic', true))
  await expect(sheet.getByRole('status')).toContainText('attic is connected')
  await sheet.getByRole('button', { name: 'New session' }).tap()
  await expect(page.getByRole('dialog', { name: 'New session' })).toBeVisible()
})

test('removing a host says what that means first', async ({ page }) => {
  await page.goto('/hosts')
  await page.getByRole('button', { name: 'Menu of nas' }).tap()
  await page.getByRole('menuitem', { name: 'Remove host…' }).tap()
  await expect(page.getByRole('dialog', { name: 'Remove nas' })).toContainText(
    'What runs on it goes on there',
  )
  await page.getByRole('button', { name: 'Remove', exact: true }).tap()
  await expect(page.getByRole('dialog')).toBeHidden()
  expect(
    await page.evaluate(() => window.mock.requests.map(({ method, path }) => `${method} ${path}`)),
  ).toContain('DELETE /hosts/nas')
})

test('a session is started on a chosen host, and opens', async ({ page }) => {
  await page.goto('/')
  await page.getByRole('button', { name: 'New session' }).tap()
  await page.getByText('mac-mini', { exact: true }).last().tap()
  await page.getByText('Claude Code').tap()
  await page.getByLabel('Name', { exact: true }).fill('fixes')
  await page.getByRole('button', { name: 'Start' }).tap()
  await expect(page.getByRole('heading', { name: 'refactor-auth' })).toBeVisible()
  expect(await page.evaluate(() => window.mock.requests.find(({ method }) => method === 'POST'))).toEqual({
    method: 'POST',
    path: '/hosts/mac-mini/sessions',
    body: { agent: 'claude', name: 'fixes' },
  })
  await page.goBack()
  await expect(page.getByRole('heading', { name: 'Sessions' })).toBeVisible()
})
