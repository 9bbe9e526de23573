import type { Page } from '@playwright/test'
import { Finger } from './finger'
import { deskOn, directPhone, phoneOn, rows, send, shows } from './phone'
import { Recorder } from './recorder'
import { expect, patience, test } from './stack'

/** Pastes text as the browser does when the person chose "paste". */
function pasteInto(page: Page, selector: string, text: string): Promise<void> {
  return page
    .locator(selector)
    .first()
    .evaluate((field, pasted) => {
      const clipboardData = new DataTransfer()
      clipboardData.setData('text/plain', pasted)
      field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
    }, text)
}

/** What a program that appends and takes back at the end holds after these bytes. */
function settle(typed: string): string {
  const held: string[] = []
  for (const character of typed) {
    if (character === '\x7f') held.pop()
    else held.push(character)
  }
  return held.join('')
}

test.describe('a desk', () => {
  test('types text, control, Alt and function keys as a terminal does', async ({ browser, stack }) => {
    const recorder = await Recorder.start(stack, 'desk-keys')
    const { page, context } = await deskOn(browser, stack, 'desk-keys')
    await page.keyboard.type('ls é')
    const keys = [
      ['ArrowUp', '\x1b[A'],
      ['ArrowLeft', '\x1b[D'],
      ['Control+ArrowRight', '\x1b[1;5C'],
      ['Control+c', '\x03'],
      ['Control+a', '\x01'],
      ['Control+Space', '\0'],
      ['Alt+b', '\x1bb'],
      ['Home', '\x1b[H'],
      ['End', '\x1b[F'],
      ['Delete', '\x1b[3~'],
      ['PageUp', '\x1b[5~'],
      ['F5', '\x1b[15~'],
      ['Tab', '\t'],
      ['Shift+Tab', '\x1b[Z'],
      ['Escape', '\x1b'],
      ['Backspace', '\x7f'],
      ['Enter', '\r'],
    ] as const
    for (const [key] of keys) await page.keyboard.press(key)
    await recorder.typed(`ls é${keys.map(([, bytes]) => bytes).join('')}`)
    await context.close()
  })

  test('types arrows as the program asked for them', async ({ browser, stack }) => {
    const recorder = await Recorder.start(stack, 'desk-application', '\x1b[?1h')
    const { page, context } = await deskOn(browser, stack, 'desk-application')
    await shows(page, 'recording')
    await page.keyboard.press('ArrowUp')
    await recorder.typed('\x1bOA')
    await context.close()
  })

  test('repeats a held key', async ({ browser, stack }) => {
    const recorder = await Recorder.start(stack, 'desk-repeat')
    const { page, context } = await deskOn(browser, stack, 'desk-repeat')
    for (let i = 0; i < 6; i++) await page.keyboard.down('ArrowDown')
    await page.keyboard.up('ArrowDown')
    await page.keyboard.down('x')
    await page.keyboard.down('x')
    await page.keyboard.up('x')
    await recorder.typed(`${'\x1b[B'.repeat(6)}xx`)
    await context.close()
  })

  test('pastes in brackets that nothing pasted can close', async ({ browser, stack }) => {
    const recorder = await Recorder.start(stack, 'desk-paste', '\x1b[?2004h')
    const { page, context } = await deskOn(browser, stack, 'desk-paste')
    await pasteInto(page, '.xterm-helper-textarea', 'x \x1b[201~ y')
    await recorder.typed('\x1b[200~x [201~ y\x1b[201~')
    await page.keyboard.type('z')
    await recorder.typed('\x1b[200~x [201~ y\x1b[201~z')
    await context.close()
  })

  test('shows several lines before it pastes them', async ({ browser, stack }) => {
    const recorder = await Recorder.start(stack, 'desk-lines')
    const { page, context } = await deskOn(browser, stack, 'desk-lines')
    await pasteInto(page, '.xterm-helper-textarea', 'one\ntwo')
    await page.getByRole('dialog').getByRole('button', { name: 'Paste', exact: true }).click()
    await recorder.typed('one\rtwo')
    await context.close()
  })

  test('opens links only by their whole address, and only http', async ({ browser, stack }) => {
    const link = (address: string, text: string) => `\x1b]8;;${address}\x1b\\${text}\x1b]8;;\x1b\\`
    await Recorder.start(
      stack,
      'desk-links',
      `see https://example.com/a(b)/c. done\r\n` +
        `${link('https://evil.example/', 'https://bank.example/')}\r\n` +
        `${link('javascript:alert(1)', 'script')}\r\n`,
    )
    const { page, context } = await deskOn(browser, stack, 'desk-links')
    await shows(page, 'recording')
    const cell = async (column: number, row: number) => {
      const box = (await page.locator('.xterm-screen').first().boundingBox())!
      return { x: box.x + (box.width * (column + 0.5)) / 80, y: box.y + (box.height * (row + 0.5)) / 24 }
    }
    const click = async (column: number, row: number) => {
      const { x, y } = await cell(column, row)
      await page.mouse.move(x, y)
      await page.mouse.click(x, y)
    }
    const sheet = page.getByRole('dialog')
    for (const [row, address] of [
      [0, 'https://example.com/a(b)/c'],
      [1, 'https://evil.example/'],
    ] as const) {
      // xterm looks for links a moment after the pointer came.
      await expect(async () => {
        await click(6, row)
        await expect(sheet.getByText(address, { exact: true })).toBeVisible({ timeout: 1000 })
      }).toPass({ timeout: patience })
      await page.keyboard.press('Escape')
      await expect(sheet).toBeHidden()
    }
    await click(2, 2)
    await click(6, 0)
    await expect(sheet).toBeVisible({ timeout: patience })
    await expect(sheet.getByText('javascript')).toHaveCount(0)
    await context.close()
  })

  test('shows the same with WebGL, and goes on when its context is lost', async ({ browser, stack }) => {
    const recorder = await Recorder.start(stack, 'desk-webgl')
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
    await context.addInitScript(() => {
      localStorage.setItem('agent-helm.prefs', JSON.stringify({ renderer: 'webgl' }))
      // Contexts are noted, to lose them.
      const contexts: WebGL2RenderingContext[] = []
      Object.assign(globalThis, { contexts })
      const getContext = HTMLCanvasElement.prototype.getContext
      HTMLCanvasElement.prototype.getContext = function (this: HTMLCanvasElement, ...args: unknown[]) {
        const made = (getContext as (...args: unknown[]) => unknown).apply(this, args)
        if (made instanceof WebGL2RenderingContext) contexts.push(made)
        return made
      } as typeof getContext
    })
    const page = await context.newPage()
    await stack.signIn(page)
    await page
      .getByRole('link', { name: /desk-webgl/ })
      .first()
      .click()
    await page.locator('.xterm-screen').first().waitFor({ timeout: patience })
    const lost = await page.evaluate(async () => {
      const { contexts } = globalThis as unknown as { contexts: WebGL2RenderingContext[] }
      const before = performance.now()
      while (contexts.length === 0 && performance.now() - before < 5000)
        await new Promise(requestAnimationFrame)
      for (const context of contexts) context.getExtension('WEBGL_lose_context')?.loseContext()
      return contexts.length
    })
    test.info().annotations.push({ type: 'webgl', description: `${lost} contexts lost` })
    await shows(page, 'recording')
    await page.keyboard.type('still typed')
    await recorder.typed('still typed')
    await context.close()
  })
})

test.describe('a phone in direct mode', () => {
  test('sends what the keyboard means, corrections included', async ({ browser, stack }) => {
    const recorder = await Recorder.start(stack, 'phone-direct')
    const { page, context } = await directPhone(browser, stack, 'phone-direct', recorder.id)
    await shows(page, 'recording')
    await page.locator('.term-bridge').focus()
    const devtools = await context.newCDPSession(page)
    const compose = (text: string) =>
      devtools.send('Input.imeSetComposition', {
        text,
        selectionStart: text.length,
        selectionEnd: text.length,
      })
    const commit = (text: string) => devtools.send('Input.insertText', { text })
    for (const text of ['g', 'gi', 'gti']) await compose(text)
    await commit('git ')
    for (const text of ['s', 'st', 'sta']) await compose(text)
    await commit('status')
    await expect.poll(async () => settle(await recorder.text()), { timeout: patience }).toBe('git status')
    // Backspace on what was typed, and then on what no field holds any more.
    for (let i = 0; i < 12; i++) await page.keyboard.press('Backspace')
    await expect
      .poll(async () => (await recorder.text()).split('\x7f').length, { timeout: patience })
      .toBeGreaterThan(12)
    await expect.poll(async () => settle(await recorder.text()), { timeout: patience }).toBe('')
    await commit('ok')
    await page.keyboard.press('Enter')
    await recorder.typed(/ok\r$/)
    await page.keyboard.press('ArrowUp')
    await expect.poll(() => recorder.text(), { timeout: patience }).toContain('ok\r\x1b[A')
    await context.close()
  })

  test('pastes in brackets that nothing pasted can close', async ({ browser, stack }) => {
    const recorder = await Recorder.start(stack, 'phone-paste', '\x1b[?2004h')
    const { page, context } = await directPhone(browser, stack, 'phone-paste', recorder.id)
    await shows(page, 'recording')
    await pasteInto(page, '.term-bridge', 'x \x1b[201~ y')
    await recorder.typed('\x1b[200~x [201~ y\x1b[201~')
    await context.close()
  })
})

test.describe('a finger', () => {
  test('scrolls through everything there was, each line once', async ({ browser, stack }) => {
    await stack.session('finger-scroll', '/bin/sh')
    await stack.helm('send', 'finger-scroll', 'for i in $(seq 1 400); do echo "old-$i-"; done')
    const { page, context } = await phoneOn(browser, stack, 'finger-scroll')
    await shows(page, 'old-400-')
    // And some that come while the terminal is open: they are in its own scrollback.
    await send(page, 'for i in $(seq 401 500); do echo "old-$i-"; done')
    await shows(page, 'old-500-')
    const finger = await Finger.of(page)
    const seen = () =>
      page.evaluate(() => {
        const text = (selector: string) =>
          [...document.querySelectorAll(selector)].map((row) => row.textContent ?? '')
        return {
          history: text('.term-history-row'),
          screen: text('.xterm-screen:not(.term-frozen) .xterm-rows > div'),
        }
      })
    const box = (await page.locator('.term-container').boundingBox())!
    const middle = box.x + box.width / 2
    await expect(async () => {
      await finger.drag(middle, box.y + 30, box.y + box.height - 30)
      expect((await seen()).history.some((row) => /old-1-/.test(row))).toBe(true)
    }).toPass({ timeout: patience, intervals: [0] })
    // Down to where the history meets the terminal: the number behind the last row above is the first row below.
    const { history, screen } = await seen()
    const numbers = (lines: string[]) =>
      lines.flatMap((line) => [...(/^old-(\d+)-/.exec(line)?.slice(1) ?? [])].map(Number))
    const above = numbers(history)
    expect(above).toEqual(Array.from({ length: above.length }, (_, i) => i + 1))
    const below = numbers(screen)[0]
    if (below !== undefined) expect(below).toBe(above.length + 1)
    // And back: the newest are in view again.
    await page
      .getByRole('button', { name: /to the end|new/i })
      .first()
      .click()
    await expect(rows(page).getByText('old-500-').last()).toBeInViewport({ timeout: patience })
    await context.close()
  })

  test('finds no line twice after the screen grew over what had scrolled off', async ({ browser, stack }) => {
    const id = await stack.session('finger-grown', '/bin/sh')
    await stack.helm('send', id, 'for i in $(seq 1 200); do echo "old-$i-"; done')
    const { page, context } = await phoneOn(browser, stack, 'finger-grown')
    await shows(page, 'old-200-')
    await send(page, 'echo $((80 + 1))-grown')
    await shows(page, '81-grown')
    await stack.eventually('the phone has the size', async () => {
      const session = (await stack.api('GET', `/api/sessions/${id}`)) as { rows: number }
      return session.rows > 24
    })
    await expect
      .poll(() => page.locator('.xterm-screen:not(.term-frozen) .xterm-rows > div').count(), {
        timeout: patience,
      })
      .toBeGreaterThan(24)
    const finger = await Finger.of(page)
    const numbers = () =>
      page.evaluate(() =>
        [
          ...document.querySelectorAll(
            '.term-history-row, .xterm-screen:not(.term-frozen) .xterm-rows > div',
          ),
        ].flatMap((row) => [...(/^old-(\d+)-/.exec(row.textContent ?? '')?.slice(1) ?? [])].map(Number)),
      )
    const box = (await page.locator('.term-container').boundingBox())!
    await expect(async () => {
      await finger.drag(box.x + box.width / 2, box.y + 30, box.y + box.height - 30)
      expect((await numbers())[0]).toBe(1)
    }).toPass({ timeout: patience, intervals: [0] })
    expect(await numbers()).toEqual(Array.from({ length: 200 }, (_, i) => i + 1))
    await context.close()
  })

  test('held long selects a word, and a tap gives it up', async ({ browser, stack }) => {
    await Recorder.start(stack, 'finger-select', 'chosen-word and more\r\n')
    const { page, context } = await phoneOn(browser, stack, 'finger-select')
    await shows(page, 'chosen-word')
    const place = () => rows(page).locator('span', { hasText: 'chosen-word' }).first().boundingBox()
    const word = (await place())!
    const finger = await Finger.of(page)
    await finger.down(word.x + 40, word.y + word.height / 2)
    const bar = page.getByRole('toolbar', { name: 'Selected text' })
    await expect(bar).toBeVisible({ timeout: patience })
    await finger.up()
    await bar.getByRole('button', { name: 'To the message' }).click()
    await expect(page.getByPlaceholder(/^(Message|Type|Command)/)).toHaveValue('chosen-word')

    // The message box may have moved it.
    const moved = (await place())!
    await finger.down(moved.x + 40, moved.y + moved.height / 2)
    await expect(bar).toBeVisible({ timeout: patience })
    await finger.up()
    await finger.tap(moved.x + 40, moved.y + 100)
    await expect(bar).toBeHidden({ timeout: patience })
    await context.close()
  })

  test('on a link shows where it really goes', async ({ browser, stack }) => {
    await Recorder.start(
      stack,
      'finger-link',
      '\x1b]8;;https://real.example/path\x1b\\https://shown.example\x1b]8;;\x1b\\\r\n',
    )
    const { page, context } = await phoneOn(browser, stack, 'finger-link')
    await shows(page, 'https://shown.example')
    const box = (await rows(page).locator('span', { hasText: 'shown' }).first().boundingBox())!
    const finger = await Finger.of(page)
    await finger.tap(box.x + 40, box.y + box.height / 2)
    await expect(
      page.getByRole('dialog').getByText('https://real.example/path', { exact: true }),
    ).toBeVisible({
      timeout: patience,
    })
    await context.close()
  })
})

test('nothing a program prints types, names the page or reaches the clipboard', async ({
  browser,
  stack,
}) => {
  const recorder = await Recorder.start(
    stack,
    'inert',
    '',
    // The colour, size, status and clipboard questions, each of which some terminal answers.
    '\x1b]52;c;c3RvbGVu\x07\x1b]52;c;?\x07\x1b]0;evil\x07\x1b]2;evil\x1b\\\x1b[21t\x1b]10;?\x07asked',
    '\x1b[c\x1b[6nagain',
  )
  const first = await deskOn(browser, stack, 'inert')
  const watchClipboard = () => {
    const written: string[] = []
    Object.assign(globalThis, { written })
    const note = (text: string) => {
      written.push(text)
      return Promise.resolve()
    }
    Object.defineProperty(navigator, 'clipboard', { value: { writeText: note, write: note, readText: note } })
  }
  await first.page.evaluate(watchClipboard)
  const second = await phoneOn(browser, stack, 'inert')
  await shows(second.page, 'recording')
  const title = await first.page.title()
  await first.page.keyboard.type('G')
  for (const { page } of [first, second]) await shows(page, 'asked')
  expect(await first.page.title()).toBe(title)
  const typedBefore = await recorder.text()
  await first.page.keyboard.type('G')
  for (const { page } of [first, second]) await shows(page, 'again')
  // A round trip more, so that a viewer's answer would be there.
  await first.page.keyboard.type('!')
  await recorder.typed(/!$/)
  const answers = (await recorder.text()).slice(typedBefore.length)
  // eslint-disable-next-line no-control-regex
  const named = answers.replace(/\x1b\[\?[\d;]*c/, '<DA>').replace(/\x1b\[\d+;\d+R/, '<CPR>')
  expect(named).toBe('G<DA><CPR>!')
  expect(await first.page.evaluate(() => (globalThis as unknown as { written: string[] }).written)).toEqual(
    [],
  )
  await first.context.close()
  await second.context.close()
})

test('the browser and the server agree how wide characters are', async ({ browser, stack }) => {
  const glyphs = ['✅', '❌', '⏳', '👩‍👩‍👧‍👦', '漢', 'e\u0301', '☁️', '🇩🇪', '👍🏽', '─', '⠋']
  const recorder = await Recorder.start(
    stack,
    'widths',
    '',
    ...glyphs.map((glyph, i) => `\x1b[H\x1b[2Jno-${i}\x1b[3;1H${glyph}`),
  )
  const { page, context } = await deskOn(browser, stack, 'widths')
  await shows(page, 'recording')
  let cols = 0
  const column = () =>
    page.evaluate((cols) => {
      const screen = document.querySelector('.xterm-screen:not(.term-frozen)')
      const cursor = screen?.querySelector('.xterm-cursor')
      if (!screen || !cursor) return null
      const box = screen.getBoundingClientRect()
      return Math.round(((cursor.getBoundingClientRect().left - box.left) / box.width) * cols)
    }, cols)
  for (const [i, glyph] of glyphs.entries()) {
    await page.keyboard.type('G')
    await shows(page, `no-${i}`)
    let server = -1
    await stack.eventually('the server has it', async () => {
      const screen = (await stack.api('GET', `/api/sessions/${recorder.id}/screen?format=json`)) as {
        cursor_x: number
        cols: number
        lines: { runs: { t: string }[] }[]
      }
      server = screen.cursor_x
      cols = screen.cols
      return screen.lines[0]?.runs[0]?.t.startsWith(`no-${i}`) ?? false
    })
    await expect.poll(column, { message: glyph, timeout: patience }).toBe(server)
  }
  await context.close()
})

test.describe('a host that does not answer', () => {
  test('for three seconds gets what was typed meanwhile once', async ({ browser, stack }) => {
    const recorder = await Recorder.start(stack, 'frozen-short')
    const { page, context } = await deskOn(browser, stack, 'frozen-short')
    await page.keyboard.type('before ')
    await recorder.typed('before ')
    stack.freezeDaemon(true)
    await page.keyboard.type('meanwhile ')
    await new Promise((resolve) => setTimeout(resolve, 3000))
    stack.freezeDaemon(false)
    await recorder.typed('before meanwhile ')
    await page.keyboard.type('after')
    await recorder.typed('before meanwhile after')
    await expect(page.getByText(/not sent/i)).toHaveCount(0)
    await context.close()
  })

  test('for longer than ten gets none of it; it comes back', async ({ browser, stack }) => {
    test.setTimeout(90_000)
    const recorder = await Recorder.start(stack, 'frozen-long')
    const { page, context } = await phoneOn(browser, stack, 'frozen-long')
    await send(page, 'before')
    await recorder.typed('before\r')
    stack.freezeDaemon(true)
    await send(page, 'meanwhile')
    await expect(page.getByText(/asking whether/i)).toBeVisible({ timeout: patience })
    stack.freezeDaemon(false)
    const back = page.getByRole('alert', { name: 'Not sent' })
    await expect(back).toContainText('meanwhile', { timeout: patience })
    await send(page, 'after')
    await recorder.typed('before\rafter\r')
    await context.close()
  })
})

test('sixty lines typed over kill -9 of the server: each arrives once or comes back', async ({
  browser,
  stack,
}) => {
  test.setTimeout(120_000)
  const recorder = await Recorder.start(stack, 'killed')
  const { page, context } = await phoneOn(browser, stack, 'killed')
  const names = Array.from({ length: 60 }, (_, i) => `line-${String(i + 1).padStart(2, '0')}`)
  let restart: Promise<void> | undefined
  for (const [i, name] of names.entries()) {
    await send(page, name)
    if (i === 20) restart = stack.restartServer()
  }
  await restart
  const back = page.getByRole('alert', { name: 'Not sent' })
  const lines = (text: string) => text.split(/[\r\n]+/).filter((line) => line.startsWith('line-'))
  const returned = async () => ((await back.count()) > 0 ? lines((await back.innerText()) ?? '') : [])
  await expect
    .poll(async () => [...lines(await recorder.text()), ...(await returned())].toSorted(), {
      timeout: 60_000,
    })
    .toEqual(names)
  await expect(page.getByText(/asking whether|not sent yet/i)).toHaveCount(0)
  // Nothing more comes of what was given back.
  await send(page, 'the end')
  await recorder.typed(/the end\r$/)
  expect([...lines(await recorder.text()), ...(await returned())].toSorted()).toEqual(names)
  const arrived = lines(await recorder.text())
  expect(arrived).toEqual(arrived.toSorted())
  test.info().annotations.push({ type: 'returned', description: String((await returned()).length) })
  await context.close()
})

test('hundreds of keys over kill -9 of the server: each arrives once or comes back', async ({
  browser,
  stack,
}) => {
  test.setTimeout(120_000)
  const recorder = await Recorder.start(stack, 'killed-keys')
  const { page, context } = await deskOn(browser, stack, 'killed-keys')
  const wanted = Array.from({ length: 60 }, (_, i) => `line ${i + 1}\n`).join('')
  let restart: Promise<void> | undefined
  for (const [i, line] of wanted.match(/.*\n/g)!.entries()) {
    await page.keyboard.type(line.trimEnd())
    await page.keyboard.press('Enter')
    if (i === 20) restart = stack.restartServer()
  }
  await restart
  const back = page.getByRole('alert', { name: 'Not sent' }).locator('.text')
  const arrived = async () => (await recorder.text()).replaceAll('\r', '\n')
  const returned = async () =>
    (await back.count()) === 0
      ? ''
      : ((await back.textContent()) ?? '').replace(/ ?\d+ keys? \(([^)]*)\) ?/g, (_, keys: string) =>
          '\n'.repeat(keys.split(' ').length),
        )
  const characters = (text: string) => [...text].toSorted().join('')
  await expect
    .poll(async () => characters((await arrived()) + (await returned())), { timeout: 60_000 })
    .toBe(characters(wanted))
  // What arrived is in the order of typing: each of its characters is found behind the one before.
  let at = 0
  for (const character of await arrived()) {
    at = wanted.indexOf(character, at) + 1
    expect(at).toBeGreaterThan(0)
  }
  test.info().annotations.push({ type: 'returned', description: JSON.stringify(await returned()) })
  await context.close()
})

test.describe('a reload', () => {
  const notSent = (page: Page) => page.getByRole('alert', { name: 'Not sent' })

  test('knows that what it was not told of has arrived', async ({ browser, stack }) => {
    const recorder = await Recorder.start(stack, 'reloaded-arrived')
    const { page, context } = await phoneOn(browser, stack, 'reloaded-arrived')
    await send(page, 'told')
    await recorder.typed('told\r')
    // What the server says reaches the page no more; what the page says goes on.
    stack.network.throttle(1)
    await send(page, 'untold')
    await recorder.typed('told\runtold\r')
    stack.network.throttle(0)
    await page.reload()
    await shows(page, 'recording')
    await send(page, 'after')
    await recorder.typed('told\runtold\rafter\r')
    await expect(page.getByText(/asking whether/i)).toHaveCount(0, { timeout: patience })
    await expect(notSent(page)).toHaveCount(0)
    await context.close()
  })

  test('gives back what was never sent', async ({ browser, stack }) => {
    const recorder = await Recorder.start(stack, 'reloaded-unsent')
    const { page, context } = await phoneOn(browser, stack, 'reloaded-unsent')
    await page.evaluate(() => {
      Object.defineProperty(globalThis, 'WebSocket', {
        value: class {
          constructor() {
            throw new Error('no sockets here')
          }
        },
      })
    })
    stack.network.cut()
    await expect(page.getByText(/reconnecting|no connection|not connected/i).first()).toBeVisible({
      timeout: patience,
    })
    await send(page, 'unsent')
    await page.reload()
    await expect(notSent(page)).toContainText('the page was closed before it arrived', { timeout: patience })
    await expect(notSent(page)).toContainText('unsent')
    await send(page, 'after')
    await recorder.typed('after\r')
    await context.close()
  })

  test('while the host is away asks when it is back', async ({ browser, stack }) => {
    const recorder = await Recorder.start(stack, 'reloaded-away')
    const { page, context } = await phoneOn(browser, stack, 'reloaded-away')
    await send(page, 'before')
    await recorder.typed('before\r')
    stack.freezeDaemon(true)
    await send(page, 'on its way')
    await page.reload()
    await expect(page.getByText(/asking whether/i)).toBeVisible({ timeout: patience })
    stack.freezeDaemon(false)
    // The host takes it when it wakes, or refuses it: both or neither would be wrong.
    await expect
      .poll(
        async () => {
          const arrived = (await recorder.text()).includes('on its way')
          return [arrived, (await notSent(page).count()) > 0].filter(Boolean).length
        },
        { timeout: patience },
      )
      .toBe(1)
    await expect(page.getByText(/asking whether/i)).toHaveCount(0, { timeout: patience })
    await expect(page.getByText(/not known/i)).toHaveCount(0)
    await context.close()
  })
})

test('output that xterm does not survive by itself leaves the terminal working', async ({
  browser,
  stack,
}) => {
  const counts = [...'SLMTIZXP@b'].map((final) => `x\x1b[2147483647${final}`).join('')
  await Recorder.start(
    stack,
    'hostile',
    '',
    `\x1b[999;999H\x1b[1J\x1b[999;999H\x1b[?1J${counts}\x1b[2J\x1b[Hsurvived`,
    `\x1b[Hand goes on`,
  )
  const { page, context } = await deskOn(browser, stack, 'hostile')
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  await page.keyboard.type('G')
  await shows(page, 'survived')
  await page.keyboard.type('G')
  await shows(page, 'and goes on')
  expect(faults).toEqual([])
  await context.close()
})
