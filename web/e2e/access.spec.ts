import type { Browser, Page } from '@playwright/test'
import { openSession, phone, phoneOn, rows, send, shows } from './phone'
import { expect, patience, test, type Stack } from './stack'

const draft = (page: Page) => page.getByPlaceholder(/^(Message|Type|Command)/)
const code = (page: Page) => page.getByLabel('Pairing code, six characters')

/** A desk that a link lets in, on a session. */
async function deskOn(browser: Browser, stack: Stack, name: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  await stack.signIn(page)
  await openSession(page, name)
  return page
}

/** A code for a device, as the settings of a paired one make it. */
async function freshCode(stack: Stack): Promise<string> {
  const made = (await stack.api('POST', '/api/codes', { kind: 'device' })) as { code: string }
  return made.code
}

test('a second device is announced on the first, revoked there, and says so itself', async ({
  browser,
  stack,
}) => {
  await stack.session('two-devices', '/bin/sh')
  const first = await phoneOn(browser, stack, 'two-devices')
  const second = await deskOn(browser, stack, 'two-devices')
  const box = draft(second)
  if (!(await box.isVisible())) await second.keyboard.press('Control+Alt+J')
  await box.fill('half a thought')

  const card = first.page.getByRole('alert', { name: 'A new device was paired' })
  await expect(card).toContainText('Chrome on Linux', { timeout: patience })
  await expect(card).toContainText('127.0.0.1')
  // It stays until somebody has looked at it.
  await first.page.reload()
  await expect(card).toContainText('Chrome on Linux', { timeout: patience })
  await card.getByRole('button', { name: 'Revoke' }).tap()
  await expect(first.page.getByText('has no access any more')).toBeVisible({ timeout: patience })
  await expect(card).toBeHidden()

  await expect(second.getByRole('heading', { name: 'This device’s access was ended' })).toBeVisible({
    timeout: patience,
  })
  await expect
    .poll(() => second.evaluate(() => JSON.stringify({ ...localStorage })), { timeout: patience })
    .not.toContain('half a thought')
  await code(second).fill(await freshCode(stack))
  await expect(draft(second)).toHaveValue('half a thought', { timeout: patience })
  await rows(second).waitFor({ timeout: patience })
  await second.context().close()
  await first.context.close()
})

test('a guest watches one session and nothing else, until it is ended', async ({ browser, stack }) => {
  await stack.session('shared', '/bin/sh')
  await stack.session('private', '/bin/sh')
  const owner = await phoneOn(browser, stack, 'shared')
  await send(owner.page, 'echo $((50 + 1))-for-everybody')
  await shows(owner.page, '51-for-everybody')
  await owner.page.getByRole('button', { name: 'Session menu' }).tap()
  await owner.page.getByRole('menuitem', { name: /Share: watch only/ }).tap()
  const sheet = owner.page.getByRole('dialog', { name: 'Share: watch only' })
  await sheet.getByRole('button', { name: 'Make a link' }).tap()
  const link = await sheet.getByLabel('Link to watch', { exact: true }).textContent()

  const context = await phone(browser)
  const guest = await context.newPage()
  await guest.goto(link ?? '')
  await shows(guest, '51-for-everybody')
  await expect(guest.getByRole('region', { name: 'Watch only' })).toContainText('Watching only')
  await expect(guest.getByRole('toolbar', { name: 'Keys' })).toBeHidden()
  for (const path of ['/', '/settings', '/hosts']) {
    await guest.goto(stack.origin + path)
    await expect(guest.getByRole('heading', { name: 'shared' })).toBeVisible({ timeout: patience })
  }
  await expect(guest.getByText('private')).toHaveCount(0)

  await expect(sheet.getByText('The link was opened')).toBeVisible({ timeout: patience })
  await sheet.getByRole('button', { name: /^End/ }).tap()
  await expect(guest.getByRole('heading', { name: 'Watching was ended' })).toBeVisible({ timeout: patience })
  // The link does not work a second time.
  await guest.goto(link ?? '')
  await expect(guest.getByRole('heading', { name: 'This invitation cannot be used' })).toBeVisible({
    timeout: patience,
  })
  await context.close()
  await owner.context.close()
})

test('a host asks for a code, a device of an administrator confirms it, and the code lets one in', async ({
  browser,
  stack,
}) => {
  await stack.session('asking', '/bin/sh')
  const admin = await phoneOn(browser, stack, 'asking')
  const asked = stack.helm('pair', '--json', '--scope', 'read,input')
  const card = admin.page.getByRole('alert', { name: 'e2e-host asks for a code' })
  await expect(card).toContainText('watch, type', { timeout: patience })
  await card.getByRole('button', { name: /^Confirm/ }).tap()
  await expect(admin.page.getByText('The code stands on the terminal of e2e-host')).toBeVisible({
    timeout: patience,
  })
  const answer = JSON.parse(await asked) as { code: string }

  const context = await phone(browser)
  const page = await context.newPage()
  await page.goto(stack.origin)
  await code(page).fill(answer.code)
  await expect(page.getByRole('heading', { name: 'Sessions' })).toBeVisible({ timeout: patience })
  // It may not administer, so it is not offered what that needs.
  await openSession(page, 'asking')
  await page.getByRole('button', { name: 'Session menu' }).tap()
  await expect(page.getByRole('menuitem', { name: 'Rename…' })).toBeVisible()
  await expect(page.getByRole('menuitem', { name: /Share/ })).toBeHidden()

  const denied = stack.helm('pair').then(
    () => 'a code',
    () => 'refused',
  )
  await expect(card).toBeVisible({ timeout: patience })
  await card.getByRole('button', { name: 'Deny' }).tap()
  expect(await denied).toBe('refused')
  await context.close()
  await admin.context.close()
})

test('finding goes through all of the history, far above what is shown', async ({ browser, stack }) => {
  await stack.session('long', '/bin/sh')
  const { page, context } = await phoneOn(browser, stack, 'long')
  await send(
    page,
    'i=0; while [ $i -lt 6000 ]; do i=$((i+1)); echo "line-$i."; done; echo all-$((1+1))-there',
  )
  await shows(page, 'all-2-there')
  await page.getByRole('button', { name: 'Session menu' }).tap()
  await page.getByRole('menuitem', { name: 'Find…' }).tap()
  const field = page.getByRole('searchbox', { name: 'Find in this session' })
  await field.fill('LINE-321.')
  await expect(page.getByText('1 of 1', { exact: true })).toBeVisible({ timeout: patience })
  const found = () =>
    page.evaluate(() => {
      const [range] = CSS.highlights.get('found') ?? []
      return range?.toString() ?? ''
    })
  await expect.poll(found, { timeout: patience }).toBe('line-321.')
  await expect(page.getByRole('log', { name: 'Text of the session' })).toContainText('line-320.')
  await field.fill('line-600')
  // Lines 6000 and 600, the newest first.
  await expect(page.getByText('1 of 2', { exact: true })).toBeVisible({ timeout: patience })
  await expect.poll(found, { timeout: patience }).toBe('line-600')
  await page.getByRole('button', { name: 'Older match' }).tap()
  await expect(page.getByText('2 of 2', { exact: true })).toBeVisible({ timeout: patience })
  await expect(page.getByRole('log', { name: 'Text of the session' })).toContainText('line-599.')
  await context.close()
})
