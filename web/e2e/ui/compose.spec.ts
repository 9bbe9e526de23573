import { desk, drawn, expect, keyboard, phone, test, typed } from './app'

test.use({ serviceWorkers: 'block' })

test.describe('on a phone', () => {
  test.use(phone)

  test.beforeEach(async ({ page }) => {
    await page.goto('/s/mac-mini/refactor-auth')
    await drawn(page, 'accept edits on')
  })

  test('nothing reaches the program until it is sent, and then as one message', async ({ page }) => {
    const message = page.getByPlaceholder('Message claude…')
    await expect(page.getByRole('button', { name: 'Send' })).toBeDisabled()
    await message.fill('/review @docs\nand be brief!')
    expect(await typed(page)).toEqual([])
    await page.getByRole('button', { name: 'Send' }).tap()
    await expect.poll(() => typed(page)).toEqual(['submit /review @docs\nand be brief!'])
    await expect(message).toHaveValue('')
  })

  test('sending leaves the keyboard up', async ({ page }) => {
    const message = page.getByPlaceholder('Message claude…')
    await message.fill('go on')
    await message.focus()
    await page.getByRole('button', { name: 'Send' }).tap()
    await expect(message).toBeFocused()
  })

  test('a draft survives a reload and a visit elsewhere', async ({ page }) => {
    await page.getByPlaceholder('Message claude…').fill('half a thought')
    await page.reload()
    await expect(page.getByPlaceholder('Message claude…')).toHaveValue('half a thought')
    await page.getByRole('button', { name: 'Back to sessions' }).tap()
    await page.getByRole('link', { name: /bump-deps/ }).tap()
    await expect(page.getByPlaceholder('Message claude…')).toHaveValue('')
    await page.goBack()
    await page.getByRole('link', { name: /refactor-auth/ }).tap()
    await expect(page.getByPlaceholder('Message claude…')).toHaveValue('half a thought')
  })

  test('the menu on screen can be answered with its own keys, once', async ({ page }) => {
    await page.goto('/s/mac-mini/api-server')
    await drawn(page, 'Do you want to proceed?')
    const replies = page.getByRole('region', { name: 'Keys for the question on screen' })
    await expect(replies.getByRole('button')).toHaveText([/1.*Yes/, /2.*go test/, /3.*No/])
    await replies.getByRole('button', { name: /^2/ }).tap()
    await expect(replies.getByRole('button', { name: /^1/ })).toBeDisabled()
    await expect.poll(() => typed(page)).toEqual(['keys 2'])
    await page.evaluate(() =>
      window.mock.change('api-server', {
        prompt: null,
        status: { kind: 'working', text: '', source: 'screen' },
      }),
    )
    await expect(replies).toBeHidden()
  })

  test('Stop goes over HTTP, also while the socket is down', async ({ page }) => {
    await page.evaluate(() => window.mock.cut(true))
    await page.getByRole('button', { name: 'Stop…' }).tap()
    await page.getByRole('button', { name: '^C', exact: true }).tap()
    await expect(page.getByText('^C was sent.')).toBeVisible()
    const stops = await page.evaluate(() =>
      window.mock.requests.filter((request) => request.path.includes('/signal')),
    )
    expect(stops).toEqual([
      { method: 'POST', path: '/sessions/refactor-auth/signal?host=mac-mini', body: { signal: 'ctrl-c' } },
    ])
  })

  test('killing asks twice', async ({ page }) => {
    const kills = () =>
      page.evaluate(() =>
        window.mock.requests.filter(({ method }) => method === 'DELETE').map(({ path }) => path),
      )
    await page.getByRole('button', { name: 'Stop…' }).tap()
    await page.getByRole('button', { name: 'Kill…' }).tap()
    expect(await kills()).toEqual([])
    await page.getByRole('button', { name: 'Kill now' }).tap()
    await expect.poll(kills).toEqual(['/sessions/refactor-auth?host=mac-mini'])
  })

  test('back closes the sheet first, then leaves the session', async ({ page }) => {
    await page.goto('/')
    await page.getByRole('link', { name: /refactor-auth/ }).tap()
    await page.getByRole('button', { name: 'Stop…' }).tap()
    await expect(page.getByRole('dialog')).toBeVisible()
    await page.goBack()
    await expect(page.getByRole('dialog')).toBeHidden()
    await expect(page.getByRole('heading', { name: 'refactor-auth' })).toBeVisible()
    await page.goBack()
    await expect(page.getByRole('heading', { name: 'Sessions' })).toBeVisible()
  })
})

test.describe('on a desk', () => {
  test.use(desk)

  test('typing goes to the terminal, and a real Enter sends a message', async ({ page }) => {
    await page.goto('/s/mac-mini/refactor-auth')
    await drawn(page, 'accept edits on')
    await page.locator('.xterm-screen').click()
    await page.keyboard.type('ls')
    await expect.poll(() => typed(page)).toEqual(['bytes l', 'bytes s'])
    await page.getByRole('button', { name: /Message$/ }).click()
    const message = page.getByPlaceholder('Message claude…')
    await expect(message).toBeFocused()
    await page.keyboard.type('two')
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.type('lines')
    await page.keyboard.press('Enter')
    await expect.poll(() => typed(page)).toEqual(['bytes l', 'bytes s', 'submit two\nlines'])
  })

  test('the list stays beside the terminal and shortcuts walk through it', async ({ page }) => {
    await page.goto('/s/mac-mini/api-server')
    await drawn(page, 'Do you want to proceed?')
    await page.keyboard.press('Control+Alt+ArrowDown')
    await expect(page.getByRole('heading', { name: 'web-shop', level: 1 })).toBeVisible()
    await page.keyboard.press('Control+Alt+ArrowUp')
    await expect(page.getByRole('heading', { name: 'api-server', level: 1 })).toBeVisible()
    expect(await typed(page)).toEqual([])
  })
})

test.describe('in direct mode', () => {
  test.use(phone)

  test('the keyboard goes on in the terminal, and an armed Ctrl takes the next character', async ({
    page,
  }) => {
    await page.goto('/s/mac-mini/refactor-auth')
    await drawn(page, 'accept edits on')
    await page.getByPlaceholder('Message claude…').focus()
    await keyboard(page, 336)
    await page.getByRole('switch', { name: 'Direct' }).tap()
    await expect(page.getByText('Typing goes straight to the terminal')).toBeVisible()
    await expect(page.locator('.term-bridge')).toBeFocused()
    await page.keyboard.type('ab')
    await page.getByRole('button', { name: 'More keys' }).nth(0).tap()
    await page.getByRole('button', { name: 'Ctrl', exact: true }).tap()
    await page.keyboard.type('r')
    await expect.poll(() => typed(page)).toEqual(['bytes a', 'bytes b', 'keys ctrl+r'])
    await expect(page.locator('.term-bridge')).toBeFocused()
  })
})
