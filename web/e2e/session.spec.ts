import { phone, phoneOn, press, rows, send, shows } from './phone'
import { expect, patience, test } from './stack'

test('a link signs in once and leaves no trace', async ({ browser, stack }) => {
  const context = await phone(browser)
  const page = await context.newPage()
  const link = await stack.link()
  await page.goto(link)
  await expect(page.getByRole('heading', { name: 'Sessions' })).toBeVisible({ timeout: patience })
  expect(new URL(page.url()).hash).toBe('')
  await page.goBack().catch(() => null)
  expect(page.url()).not.toContain(new URL(link).hash)

  const second = await (await phone(browser)).newPage()
  await second.goto(link)
  await expect(second.getByText(/already used/i)).toBeVisible({ timeout: patience })
})

test('type, send and press keys', async ({ browser, stack }) => {
  const id = await stack.session('typing', '/bin/bash', '--norc')
  const { page, context } = await phoneOn(browser, stack, 'typing')
  await send(page, 'echo $((6 * 7))-from-the-phone')
  await shows(page, '42-from-the-phone')

  await send(page, 'cat')
  await send(page, 'stands in cat')
  await shows(page, 'stands in cat')
  await press(page, 'Control C')
  await send(page, 'echo $((2 * 4))-after-interrupt')
  await shows(page, '8-after-interrupt')

  // The arrow brings the last command back; Enter runs it again.
  await press(page, 'Up')
  await press(page, 'Enter')
  await stack.eventually('the command ran twice', async () => {
    return (await stack.screen(id)).split('8-after-interrupt').length >= 3
  })
  await context.close()
})

test('a lost socket resumes, and the draft survives', async ({ browser, stack }) => {
  const id = await stack.session('resuming', '/bin/sh')
  const { page, context } = await phoneOn(browser, stack, 'resuming')
  await send(page, 'echo $((10 + 1))-before')
  await shows(page, '11-before')

  stack.network.refuse(true)
  stack.network.cut()
  await expect(page.getByText(/reconnecting|no connection|not connected/i).first()).toBeVisible({
    timeout: patience,
  })
  // The last frame stays, and typing is possible.
  await shows(page, '11-before')
  await page.getByPlaceholder(/^(Message|Type|Command)/).fill('echo a draft that stays')
  await stack.helm('send', id, 'echo $((11 + 1))-meanwhile')
  stack.network.refuse(false)
  await shows(page, '12-meanwhile')
  await expect(page.getByPlaceholder(/^(Message|Type|Command)/)).toHaveValue('echo a draft that stays')

  await page.reload()
  await rows(page).waitFor({ timeout: patience })
  await shows(page, '12-meanwhile')
  await expect(page.getByPlaceholder(/^(Message|Type|Command)/)).toHaveValue('echo a draft that stays')
  await context.close()
})

test('a server that was killed comes back to the same screen', async ({ browser, stack }) => {
  await stack.session('restarting', '/bin/sh')
  const { page, context } = await phoneOn(browser, stack, 'restarting')
  await send(page, 'echo $((20 + 1))-before')
  await shows(page, '21-before')
  await stack.restartServer()
  await send(page, 'echo $((21 + 1))-after')
  await shows(page, '22-after')
  await shows(page, '21-before')
  await context.close()
})

test('two viewers, one of them slow', async ({ browser, stack }) => {
  await stack.session('flooding', '/bin/sh')
  const first = await phoneOn(browser, stack, 'flooding')
  stack.network.throttle(50_000)
  const second = await phoneOn(browser, stack, 'flooding')
  await send(first.page, 'yes flood | head -n 400000; echo $((30 + 1))-over')
  await shows(first.page, '31-over')
  await shows(second.page, '31-over')
  stack.network.throttle(0)
  await first.context.close()
  await second.context.close()
})

test('watching never resizes; Fit takes the size and leaving gives it back', async ({ browser, stack }) => {
  const id = await stack.session('sizes', '/bin/sh')
  const size = async () => {
    const session = (await stack.api('GET', `/api/sessions/${id}`)) as { cols: number; rows: number }
    return `${session.cols}x${session.rows}`
  }
  const before = await size()
  const desk = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  const deskPage = await desk.newPage()
  await stack.signIn(deskPage)
  await deskPage.getByRole('link', { name: /sizes/ }).first().click()
  const { page, context } = await phoneOn(browser, stack, 'sizes')
  await shows(page, /\$|#/)
  expect(await size()).toBe(before)

  await page.getByRole('button', { name: 'Session menu' }).click()
  await page.getByRole('menuitem', { name: /fit/i }).click()
  await stack.eventually('the phone has the size', async () => (await size()) !== before)
  const fitted = await size()
  expect(Number(fitted.split('x')[0])).toBeGreaterThanOrEqual(52)
  expect(Number(fitted.split('x')[0])).toBeLessThan(80)

  await page.getByRole('button', { name: 'Session menu' }).click()
  await page.getByRole('menuitem', { name: /hand|give|release/i }).click()
  await stack.eventually('the size is back', async () => (await size()) === before)
  await context.close()
  await desk.close()
})

test('history is there on scrolling up', async ({ browser, stack }) => {
  await stack.session('history', '/bin/sh')
  const { page, context } = await phoneOn(browser, stack, 'history')
  await send(page, 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo past-line-$i; done')
  await shows(page, 'past-line-300')
  await page.reload()
  await shows(page, 'past-line-300')
  await page.getByRole('button', { name: 'Text view, select and copy' }).click()
  await expect(page.getByText('past-line-7', { exact: false }).first()).toBeAttached({ timeout: patience })
  await context.close()
})

test('stop works over HTTP while the socket is down', async ({ browser, stack }) => {
  const id = await stack.session('stopping', '/bin/sh')
  const { page, context } = await phoneOn(browser, stack, 'stopping')
  await send(page, 'sleep 1000 || echo $((40 + 1))-interrupted')
  await shows(page, 'sleep 1000')
  await page.evaluate(() => {
    // Sockets of this page fail from now on; requests still pass.
    Object.defineProperty(globalThis, 'WebSocket', {
      value: class {
        constructor() {
          throw new Error('no sockets here')
        }
      },
    })
  })
  stack.network.cut()
  await page.getByRole('button', { name: 'Stop…' }).click()
  await page.getByRole('button', { name: '^C', exact: true }).last().click()
  await stack.eventually('the program was interrupted', async () => {
    return !(await stack.screen(id)).trimEnd().endsWith('sleep 1000 || echo $((40 + 1))-interrupted')
  })
  await context.close()
})

test('an ended session says so and keeps its screen', async ({ browser, stack }) => {
  await stack.session('ending', '/bin/sh')
  const { page, context } = await phoneOn(browser, stack, 'ending')
  await send(page, 'echo $((50 + 1))-last-words; exit 3')
  await expect(page.getByText(/exited|ended/i).first()).toBeVisible({ timeout: patience })
  await page.reload()
  await shows(page, '51-last-words')
  await context.close()
})

for (const [width, height] of [
  [360, 740],
  [390, 844],
  [1280, 800],
] as const) {
  test(`nothing overflows at ${width} px, and ANSI and true colours are drawn`, async ({
    browser,
    stack,
  }) => {
    const name = `width-${width}`
    await stack.session(name, '/bin/sh')
    const context =
      width < 1000
        ? await phone(browser, width, height)
        : await browser.newContext({ viewport: { width, height } })
    const page = await context.newPage()
    await stack.signIn(page)
    const overflow = () =>
      page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    expect(await overflow()).toBe(0)
    await page
      .getByRole('link', { name: new RegExp(name) })
      .first()
      .click()
    await rows(page).waitFor({ timeout: patience })
    expect(await overflow()).toBe(0)
    await stack.helm('send', name, String.raw`printf '\033[31mANSI\033[m \033[38;2;10;200;30mTRUE\033[m\n'`)
    await shows(page, /ANSI TRUE/)
    const colour = (text: string) =>
      rows(page)
        .locator('span', { hasText: new RegExp(`^${text}`) })
        .last()
        .evaluate((span) => getComputedStyle(span).color)
    const ansi = await colour('ANSI')
    const plain = await rows(page).evaluate((element) => getComputedStyle(element).color)
    expect(ansi).not.toBe(plain)
    expect(await colour('TRUE')).not.toBe(plain)
    expect(await colour('TRUE')).not.toBe(ansi)
    await context.close()
  })
}
