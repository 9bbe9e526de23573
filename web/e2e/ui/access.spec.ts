import type { Page } from '@playwright/test'
import { drawn, expect, phone, test } from './app'

test.use({ ...phone, serviceWorkers: 'block' })

const asksFor = (page: Page, name: string) => page.getByRole('alert', { name: `${name} asks for a code` })
const newcomer = { id: 'd9', name: 'Chrome on Windows', address: '203.0.113.9' }
const requests = (method: string) => (each: { method: string; path: string }) => each.method === method
const code = 'Pairing code, six characters'

test('a new device is announced, over reloads too, and revoked with one tap', async ({ page }) => {
  await page.goto('/')
  await expect(page.getByRole('link', { name: /refactor-auth/ })).toBeVisible()
  await page.evaluate((device) => window.mock.pair(device), newcomer)
  const card = page.getByRole('alert', { name: 'A new device was paired' })
  await expect(card).toContainText('Chrome on Windows')
  await expect(card).toContainText('203.0.113.9')
  await page.goto('/hosts')
  await expect(page.getByRole('heading', { name: 'Hosts' })).toBeVisible()
  await expect(card).toContainText('Chrome on Windows')
  await card.getByRole('button', { name: 'Revoke' }).tap()
  await expect(page.getByText('Chrome on Windows has no access any more')).toBeVisible()
  await expect(card).toBeHidden()
  const deleted = await page.evaluate(() => window.mock.requests)
  expect(deleted.filter(requests('DELETE')).map(({ path }) => path)).toEqual(['/devices/d9'])
})

test('a new device that was one’s own is not announced again', async ({ page }) => {
  await page.goto('/')
  await expect(page.getByRole('link', { name: /refactor-auth/ })).toBeVisible()
  await page.evaluate((device) => window.mock.pair(device), newcomer)
  const card = page.getByRole('alert', { name: 'A new device was paired' })
  await card.getByRole('button', { name: 'It was me' }).tap()
  await expect(card).toBeHidden()
  await page.evaluate((device) => window.mock.pair(device), newcomer)
  await page.evaluate(() => window.mock.pair({ id: 'd10', name: 'Next', address: '198.51.100.1' }))
  await expect(card).toContainText('Next')
  await expect(card).not.toContainText('1 of')
})

test('a host that asks for a code is confirmed or denied, after comparing', async ({ page }) => {
  await page.goto('/')
  await expect(page.getByRole('link', { name: /refactor-auth/ })).toBeVisible()
  await page.evaluate(() => {
    window.mock.ask('K7QP', 'mac-mini')
    window.mock.ask('2XYZ', 'nas')
  })
  const first = asksFor(page, 'mac-mini')
  await expect(first).toContainText('only if its terminal shows K7QP')
  await expect(first).toContainText('watch, type, answer questions')
  await expect(first).toContainText('1 of 2')
  await first.getByRole('button', { name: 'Confirm K7QP' }).tap()
  await expect(page.getByText('The code stands on the terminal of mac-mini')).toBeVisible()
  await asksFor(page, 'nas').getByRole('button', { name: 'Deny' }).tap()
  await expect(page.getByText('Denied. nas got no code.')).toBeVisible()
  await expect(page.getByRole('alert')).toHaveCount(0)
  await page.evaluate(() => window.mock.ask('GONE', 'attic'))
  await asksFor(page, 'attic').getByRole('button', { name: 'Confirm GONE' }).tap()
  await expect(page.getByText('decided already')).toBeVisible()
  await expect(asksFor(page, 'attic')).toBeHidden()
  const posted = (await page.evaluate(() => window.mock.requests)).filter(requests('POST'))
  expect(posted.map(({ path }) => path)).toEqual([
    '/pairings/K7QP/confirm',
    '/pairings/2XYZ/deny',
    '/pairings/GONE/confirm',
  ])
})

test('a revoked device says so, and pairing it again right there loses nothing', async ({ page }) => {
  await page.goto('/s/mac-mini/refactor-auth')
  await drawn(page, 'accept edits on')
  await page.getByPlaceholder('Message claude…').fill('half a thought')
  await page.evaluate(() => window.mock.end('revoked'))
  await expect(page.getByRole('heading', { name: 'This device’s access was ended' })).toBeVisible()
  await expect(page.getByText('revoked on another device')).toBeVisible()
  // It may be in other hands now: nothing of what was written stays in storage.
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain('half a thought')
  await page.getByLabel(code).fill('AB3X9K')
  await expect(page.getByPlaceholder('Message claude…')).toHaveValue('half a thought')
  expect(new URL(page.url()).pathname).toBe('/s/mac-mini/refactor-auth')
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).toContain('half a thought')
})

test('a sign-in that ran out says so, keeps drafts, and leads back to the session', async ({ page }) => {
  await page.goto('/s/mac-mini/refactor-auth')
  await drawn(page, 'accept edits on')
  await page.getByPlaceholder('Message claude…').fill('half a thought')
  await page.evaluate(() => window.mock.end('unauthenticated'))
  await expect(page.getByRole('heading', { name: 'This device was signed out' })).toBeVisible()
  await page.getByLabel(code).fill('AB3X9K')
  await expect(page.getByPlaceholder('Message claude…')).toHaveValue('half a thought')
})

test('a guest sees one session, and only watches', async ({ page }) => {
  await page.goto('/?scene=guest')
  await expect(page.getByRole('heading', { name: 'refactor-auth' })).toBeVisible()
  await drawn(page, 'accept edits on')
  await expect(page.getByRole('region', { name: 'Watch only' })).toContainText(
    /Watching only\. Until \d\d:\d\d, .*from now/,
  )
  await expect(page.getByRole('toolbar', { name: 'Keys' })).toBeHidden()
  await expect(page.getByRole('navigation', { name: 'Main' })).toBeHidden()
  await expect(page.getByRole('button', { name: 'Back to sessions' })).toBeHidden()
  await page.keyboard.type('x')
  for (const path of [
    '/',
    '/settings',
    '/hosts',
    '/s/mac-mini/api-server',
    '/s/mac-mini/refactor-auth?sheet=stop',
  ]) {
    await page.goto(path)
    await expect(page.getByRole('heading', { name: 'refactor-auth' })).toBeVisible()
    await expect(page.getByRole('dialog')).toBeHidden()
  }
  expect(await page.evaluate(() => window.mock.typed)).toEqual([])
  await page.evaluate(() => window.mock.end('unauthenticated'))
  await expect(page.getByRole('heading', { name: 'Your time to watch is over' })).toBeVisible()
  await expect(page.getByLabel(code)).toBeHidden()
})

test('a guest who stops watching has no access any more', async ({ page }) => {
  await page.goto('/?scene=guest')
  await drawn(page, 'accept edits on')
  await page.getByRole('button', { name: 'Session menu' }).tap()
  await page.getByRole('menuitem', { name: /Stop watching/ }).tap()
  await expect(page.getByRole('heading', { name: 'You signed out' })).toBeVisible()
  expect((await page.evaluate(() => window.mock.requests)).map(({ path }) => path)).toContain('/signout')
})

test('a session is shared with a link for a while, and its guests are listed and ended', async ({ page }) => {
  await page.goto('/s/mac-mini/refactor-auth')
  await drawn(page, 'accept edits on')
  await page.getByRole('button', { name: 'Session menu' }).tap()
  await page.getByRole('menuitem', { name: /Share: watch only/ }).tap()
  const sheet = page.getByRole('dialog', { name: 'Share: watch only' })
  await sheet.getByText('8 hours').tap()
  await sheet.getByRole('button', { name: 'Make a link' }).tap()
  await expect(sheet.getByLabel('Link to watch', { exact: true })).toHaveText(
    /\/watch#t=guest-of-this-session$/,
  )
  await expect(sheet.getByRole('img', { name: /QR code/ })).toBeVisible()
  expect((await page.evaluate(() => window.mock.requests)).filter(requests('POST'))).toEqual([
    {
      method: 'POST',
      path: '/sessions/refactor-auth/guests?host=mac-mini',
      body: { expires_ms: 28_800_000 },
    },
  ])
  await page.evaluate(() =>
    window.mock.pair({ id: 'g1', name: 'Safari on Mac', address: '192.0.2.7', guest: true }),
  )
  await expect(sheet.getByText('The link was opened')).toBeVisible()
  await expect(sheet.getByText(/from 192\.0\.2\.7, until/)).toBeVisible()
  await sheet.getByRole('button', { name: 'End watching of Safari on Mac' }).tap()
  await expect(sheet.getByText(/from 192\.0\.2\.7/)).toBeHidden()
})

test('a guest’s link does not take a browser’s own access away', async ({ page }) => {
  await page.goto('/')
  await expect(page.getByRole('link', { name: /refactor-auth/ })).toBeVisible()
  await expect.poll(() => page.evaluate(() => localStorage.getItem('agent-helm.pairing'))).not.toBeNull()
  await page.goto('/watch#t=good')
  await expect(page.getByRole('heading', { name: 'This browser has its own access' })).toBeVisible()
  await page.getByRole('button', { name: 'Keep my access' }).tap()
  await expect(page.getByRole('heading', { name: 'Sessions' })).toBeVisible()
  expect((await page.evaluate(() => window.mock.requests)).map(({ path }) => path)).not.toContain('/pair')
})

test('an invitation that was used is explained, without asking for a code', async ({ page }) => {
  await page.goto('/watch?scene=unpaired#t=old')
  await expect(page.getByRole('heading', { name: 'This invitation cannot be used' })).toBeVisible()
  await expect(page.getByRole('alert')).toContainText('used already')
  await expect(page.getByLabel(code)).toBeHidden()
})

test.describe('on an iPhone', () => {
  test.use({
    userAgent:
      'Mozilla/5.0 (iPhone; CPU iPhone OS 27_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/27.2 Mobile/15E148 Safari/604.1',
  })

  test('a link in Safari is not used: the app on the Home Screen is paired instead', async ({ page }) => {
    await page.goto('/?scene=unpaired#t=good')
    await expect(page.getByRole('heading', { name: 'Put it on the Home Screen' })).toBeVisible()
    await expect(page.getByText('The link you opened was not used.')).toBeVisible()
    expect((await page.evaluate(() => window.mock.requests)).map(({ path }) => path)).not.toContain('/pair')
    await page.getByRole('button', { name: 'Pair this tab instead' }).tap()
    await expect(page.getByRole('heading', { name: 'Sessions' })).toBeVisible()
  })

  test('the installed app asks for the code, and says that it does not notify', async ({ page }) => {
    await page.addInitScript(() => {
      const real = window.matchMedia.bind(window)
      window.matchMedia = (query) => (query.includes('standalone') ? real('all') : real(query))
    })
    await page.goto('/?scene=unpaired')
    await page.getByLabel(code).fill('AB3X9K')
    await expect(page.getByRole('heading', { name: 'This phone is paired' })).toBeVisible()
    await expect(page.getByText('sends no notifications')).toBeVisible()
    await page.getByRole('button', { name: 'Open sessions' }).tap()
    await expect(page.getByRole('heading', { name: 'Sessions' })).toBeVisible()
  })
})
