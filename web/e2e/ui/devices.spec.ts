import { drawn, expect, phone, test } from './app'

test.use({ ...phone, serviceWorkers: 'block' })

const asked = (page: import('@playwright/test').Page) =>
  page.evaluate(() =>
    window.mock.requests
      .filter(({ method }) => method !== 'GET')
      .map(({ method, path, body }) => ({ method, path, body })),
  )

test('settings lead to the devices, and back without growing the history', async ({ page }) => {
  await page.goto('/settings')
  const before = await page.evaluate(() => history.length)
  await page.getByRole('link', { name: /Devices & security/ }).tap()
  await expect(page.getByRole('heading', { name: 'Devices & security' })).toBeVisible()
  const device = page.getByRole('region', { name: 'This device' })
  await expect(device).toContainText('This phone')
  await expect(device).toContainText('Everything, also let others in')
  await expect(device).toContainText('127.0.0.1')
  await expect(device).toContainText('Signed in until')
  await page.getByRole('button', { name: 'Back to settings' }).tap()
  await expect(page.getByRole('heading', { name: 'Settings', exact: true })).toBeVisible()
  expect(await page.evaluate(() => history.length)).toBe(before + 1)
  await expect(page.getByText('Paired as This phone')).toBeVisible()
})

test('a device is shown in full, renamed, and ended after a second tap', async ({ page }) => {
  await page.goto('/settings/devices')
  await page.getByRole('button', { name: /Firefox on Linux/ }).tap()
  const sheet = page.getByRole('dialog', { name: 'Firefox on Linux' })
  for (const fact of ['Kind', 'May', 'Last here', 'Paired', 'From', 'Signed in until'])
    await expect(sheet.getByRole('term').filter({ hasText: fact })).toBeVisible()
  await expect(sheet).toContainText('2 hours ago')
  await sheet.getByRole('button', { name: 'Rename…' }).tap()
  await page.getByRole('dialog', { name: 'Rename device' }).getByLabel('Name').fill('Laptop')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('dialog')).toBeHidden()
  await page.getByRole('button', { name: /^Laptop/ }).tap()
  const laptop = page.getByRole('dialog', { name: 'Laptop' })
  await laptop.getByRole('button', { name: 'End access…' }).tap()
  await expect(laptop.getByRole('button', { name: 'Keep it' })).toBeFocused()
  await expect(laptop).toContainText('It is out at once')
  await laptop.getByRole('button', { name: 'End access' }).tap()
  await expect(page.getByText('Laptop has no access any more.')).toBeVisible()
  await expect(page.getByRole('dialog')).toBeHidden()
  await expect(page.getByText('No other device is paired.')).toBeVisible()
  expect(await asked(page)).toEqual([
    { method: 'PATCH', path: '/devices/d2', body: { name: 'Laptop' } },
    { method: 'DELETE', path: '/devices/d2', body: null },
  ])
})

test('this device renames itself', async ({ page }) => {
  await page.goto('/settings/devices')
  const device = page.getByRole('region', { name: 'This device' })
  await expect(device).toContainText('127.0.0.1')
  await device.getByRole('button', { name: 'Rename' }).tap()
  await page.getByRole('dialog').getByLabel('Name').fill('Pocket')
  await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).tap()
  await expect(device.getByText('Pocket', { exact: true })).toBeVisible()
})

test('a device that is paired meanwhile appears, and a sheet about one that went closes', async ({
  page,
}) => {
  await page.goto('/settings/devices')
  await expect(page.getByRole('button', { name: /Firefox on Linux/ })).toBeVisible()
  await page.evaluate(() => window.mock.pair({ id: 'd9', name: 'Chrome on Windows', address: '203.0.113.9' }))
  const row = page.getByRole('region', { name: 'Other devices' }).getByRole('button', { name: /Chrome on/ })
  await row.tap()
  await expect(page.getByRole('dialog', { name: 'Chrome on Windows' })).toContainText('203.0.113.9')
  await page.evaluate(async () => {
    await fetch('/api/devices/d9', { method: 'DELETE' })
    window.mock.pair({ id: 'd10', name: 'Next', address: '198.51.100.1' })
  })
  await expect(page.getByRole('dialog')).toBeHidden()
  await expect(row).toBeHidden()
})

test('guests are listed with what they see and until when, and ended with one tap', async ({ page }) => {
  await page.goto('/settings/devices')
  await expect(page.getByRole('button', { name: /Firefox on Linux/ })).toBeVisible()
  await expect(page.getByRole('region', { name: 'Guests' })).toBeHidden()
  await page.evaluate(() =>
    window.mock.pair({ id: 'g1', name: 'Safari on Mac', address: '192.0.2.7', guest: true }),
  )
  const guests = page.getByRole('region', { name: 'Guests' })
  await expect(guests).toContainText(/Sees refactor-auth on mac-mini until .*\d\d:\d\d · from 192\.0\.2\.7/)
  await page.getByRole('button', { name: 'It was me' }).tap()
  await page.setViewportSize({ width: 320, height: 740 })
  await guests.getByRole('button').scrollIntoViewIfNeeded()
  await expect(guests.getByRole('button')).toBeInViewport({ ratio: 1 })
  await guests.getByRole('button', { name: 'End watching of Safari on Mac' }).tap()
  await expect(guests).toBeHidden()
  expect(await asked(page)).toEqual([{ method: 'DELETE', path: '/devices/g1', body: null }])
})

test('all others are ended at once, after naming them', async ({ page }) => {
  await page.goto('/settings/devices')
  await page.getByRole('button', { name: 'End access of all others…' }).tap()
  const sheet = page.getByRole('dialog', { name: 'End access of all others' })
  await expect(sheet.getByRole('listitem')).toHaveText(['Firefox on Linux'])
  await sheet.getByRole('button', { name: 'End access' }).tap()
  await expect(page.getByText('1 device lost access.')).toBeVisible()
  await expect(page.getByText('No other device is paired.')).toBeVisible()
  await expect(page.getByRole('button', { name: 'End access of all others…' })).toBeHidden()
  expect(await asked(page)).toEqual([{ method: 'POST', path: '/devices/revoke', body: null }])
})

test('a token is made for one session, shown once, and ended', async ({ page }) => {
  await page.goto('/settings/devices')
  const tokens = page.getByRole('region', { name: 'Tokens for scripts' })
  await expect(tokens.getByRole('button', { name: /nightly-report/ })).toContainText('See · used 9 hours ago')
  await tokens.getByRole('button', { name: 'New token' }).tap()
  const sheet = page.getByRole('dialog', { name: 'New token' })
  await expect(sheet.getByRole('button', { name: 'Make it' })).toBeDisabled()
  await sheet.getByLabel('Name', { exact: true }).fill('watch-ci')
  await expect(sheet.getByRole('switch', { name: /Manage access/ })).toBeVisible()
  await sheet.getByLabel('Reaches').selectOption({ label: 'refactor-auth on mac-mini' })
  await expect(sheet.getByRole('switch', { name: /Manage access/ })).toBeHidden()
  await sheet.getByRole('switch', { name: /^Type/ }).tap()
  await sheet.getByText('1 day').tap()
  await sheet.getByRole('button', { name: 'Make it' }).tap()
  const made = page.getByRole('dialog', { name: 'Token watch-ci' })
  await expect(made.getByLabel('The token', { exact: true })).toContainText('ah_mock_')
  await expect(made.getByRole('status')).toContainText('see, type')
  await made.getByRole('button', { name: 'Done' }).tap()
  await expect(page.locator('body')).not.toContainText('ah_mock_')
  expect(
    await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }])),
  ).not.toContain('ah_mock_')
  expect((await asked(page))[0]).toEqual({
    method: 'POST',
    path: '/tokens',
    body: {
      name: 'watch-ci',
      scopes: ['read', 'input'],
      expires_ms: 86_400_000,
      sessions: [{ host: 'mac-mini', id: 'refactor-auth' }],
    },
  })
  await tokens.getByRole('button', { name: /watch-ci/ }).tap()
  const token = page.getByRole('dialog', { name: 'watch-ci' })
  await expect(token).toContainText('refactor-auth on mac-mini')
  await token.getByRole('button', { name: 'End access…' }).tap()
  await token.getByRole('button', { name: 'End access' }).tap()
  await expect(tokens.getByRole('button', { name: /watch-ci/ })).toBeHidden()
})

test('a token’s taken name is refused where it was typed, and nothing typed is lost', async ({ page }) => {
  await page.goto('/settings/devices?sheet=new-token')
  const sheet = page.getByRole('dialog', { name: 'New token' })
  await sheet.getByLabel('Name', { exact: true }).fill('nightly-report')
  await sheet.getByRole('button', { name: 'Make it' }).tap()
  await expect(sheet.getByRole('alert')).toContainText('There is a token nightly-report already.')
  await expect(sheet.getByLabel('Name', { exact: true })).toHaveValue('nightly-report')
})

test('a device that may not manage access sees itself, and why', async ({ page }) => {
  await page.goto('/settings?scene=limited')
  await expect(page.getByRole('link', { name: /Devices & security/ })).toBeVisible()
  await expect(page.getByRole('link', { name: /Audit/ })).toBeHidden()
  await page.getByRole('link', { name: /Devices & security/ }).tap()
  await expect(page.getByRole('region', { name: 'This device' })).toContainText('See, type')
  await expect(page.getByText('this device may not manage access')).toBeVisible()
  await expect(page.getByRole('region', { name: 'Other devices' })).toBeHidden()
  await page.getByRole('button', { name: 'Rename' }).tap()
  await page.getByRole('dialog').getByLabel('Name').fill('Pocket')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('dialog')).toBeHidden()
  // What the server would refuse is not asked for.
  const paths = await page.evaluate(() => window.mock.requests.map(({ path }) => path))
  expect(paths.filter((path) => /tokens|audit|devices$/.test(path))).toEqual([])
  expect(await asked(page)).toEqual([{ method: 'PATCH', path: '/devices/d1', body: { name: 'Pocket' } }])
})

test('without a connection the list stays with its age, or says where it is', async ({ page }) => {
  await page.goto('/settings/devices')
  await expect(page.getByRole('button', { name: /Firefox on Linux/ })).toBeVisible()
  await page.evaluate(() => window.mock.cut(true))
  await expect(page.getByText(/list is .* old/)).toBeVisible()
  await expect(page.getByRole('button', { name: /Firefox on Linux/ })).toBeVisible()
  await page.evaluate(() => sessionStorage.setItem('mock.scene', 'unreachable'))
  await page.reload()
  await expect(page.getByText('The list of devices is on the server')).toBeVisible()
})

test.describe('signing out', () => {
  async function fillBrowser(page: import('@playwright/test').Page) {
    await page.goto('/s/mac-mini/refactor-auth')
    await drawn(page, 'accept edits on')
    await page.getByPlaceholder('Message claude…').fill('half a thought')
    await page.evaluate(async () => {
      localStorage.setItem('agent-helm.proof', 'secret')
      await caches.open('left-over').then((cache) => cache.put('/x', new Response('x')))
      await new Promise((resolve) => (indexedDB.open('left-over').onsuccess = resolve))
    })
    await page.goto('/settings/devices')
    await page.getByRole('button', { name: 'Sign out and wipe…' }).tap()
  }
  const kept = (page: import('@playwright/test').Page) =>
    page.evaluate(async () => ({
      local: Object.keys(localStorage),
      // The router's own note of scroll positions is always empty here.
      session: Object.keys(sessionStorage).filter((name) => sessionStorage.getItem(name) !== '{}'),
      caches: await caches.keys(),
      databases: (await indexedDB.databases()).map(({ name }) => name),
      workers: (await navigator.serviceWorker.getRegistrations()).length,
    }))
  const nothing = { local: [], session: [], caches: [], databases: [], workers: 0 }

  test('names what was not sent, tells the server and leaves nothing behind', async ({ page }) => {
    await fillBrowser(page)
    const sheet = page.getByRole('dialog', { name: 'Sign out and wipe' })
    await expect(sheet.getByRole('alert')).toContainText('Text that was not sent is lost, in refactor-auth.')
    await sheet.getByRole('button', { name: 'Sign out and wipe' }).tap()
    await expect(page.getByRole('heading', { name: 'You signed out' })).toBeVisible()
    await expect(page.getByText('Nothing is left in this browser.')).toBeVisible()
    expect(await kept(page)).toEqual(nothing)
    expect(await asked(page)).toEqual([{ method: 'POST', path: '/signout', body: null }])
    // What was in the page is gone as well: pairing again finds no draft.
    await page.getByLabel('Pairing code, six characters').fill('AB3X9K')
    await page.getByRole('link', { name: /refactor-auth/ }).tap()
    await drawn(page, 'accept edits on')
    await expect(page.getByPlaceholder('Message claude…')).toHaveValue('')
  })

  test('without the server wipes here, says what that leaves, and tells it later', async ({ page }) => {
    await fillBrowser(page)
    const sheet = page.getByRole('dialog', { name: 'Sign out and wipe' })
    await expect(sheet.getByText('The server does not answer now')).toBeHidden()
    await page.evaluate(() => window.mock.cut(true))
    await expect(sheet.getByText('The server does not answer now')).toBeVisible()
    await sheet.getByRole('button', { name: 'Sign out and wipe' }).tap()
    await expect(page.getByRole('heading', { name: 'You signed out here' })).toBeVisible()
    await expect(page.getByText('still lists this device')).toBeVisible()
    expect(await kept(page)).toEqual({ ...nothing, local: ['agent-helm.sign-out-owed'] })
    await page.reload()
    // The cookie is still good, and is used for this alone.
    await expect(page.getByRole('heading', { name: 'You signed out', exact: true })).toBeVisible()
    expect((await page.evaluate(() => window.mock.requests)).map(({ path }) => path)).toEqual(['/signout'])
    expect((await kept(page)).local).toEqual([])
  })

  test('staying changes nothing', async ({ page }) => {
    await fillBrowser(page)
    await page.getByRole('button', { name: 'Stay' }).tap()
    await expect(page.getByRole('dialog')).toBeHidden()
    await expect(page.getByRole('region', { name: 'This device' })).toBeVisible()
    expect((await kept(page)).local).toContain('agent-helm.draft.mac-mini/refactor-auth')
  })
})
