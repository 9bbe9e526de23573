import { spawn } from 'node:child_process'
import { openSession, phone, phoneOn, rows, send, shows } from './phone'
import { expect, patience, Stack, test } from './stack'

test('the terminal and compose work over plain HTTP, and the page says what it lacks', async ({
  browser,
}) => {
  test.setTimeout(120_000)
  const stack = await Stack.start('helm.lan')
  await stack.session('lan', '/bin/sh')
  const context = await phone(browser)
  const page = await context.newPage()
  await stack.signIn(page)
  expect(await page.evaluate(() => isSecureContext)).toBe(false)
  await openSession(page, 'lan')
  await send(page, 'echo $((60 + 1))-over-plain-http')
  await shows(page, '61-over-plain-http')
  await page.goto(`${stack.origin}/settings`)
  await expect(page.getByText(/https/i).first()).toBeVisible({ timeout: patience })
  await context.close()
  await stack.stop()
})

test('a page from the back-forward cache is live again', async ({ browser, stack }) => {
  const id = await stack.session('cached', '/bin/sh')
  const { page, context } = await phoneOn(browser, stack, 'cached')
  await send(page, 'echo $((70 + 1))-before')
  await shows(page, '71-before')
  await page.goto('about:blank')
  await stack.helm('send', id, 'echo $((71 + 1))-while-away')
  await page.goBack()
  await shows(page, '72-while-away')
  await send(page, 'echo $((72 + 1))-after')
  await shows(page, '73-after')
  await context.close()
})

test('the size goes between a local terminal and the phone', async ({ browser, stack }) => {
  const id = await stack.session('desk', '/bin/sh')
  const size = async () => {
    const session = (await stack.api('GET', `/api/sessions/${id}`)) as { cols: number; rows: number }
    return `${session.cols}x${session.rows}`
  }
  // A terminal of 100 × 30 on which a person attaches.
  const { argv, env } = stack.command('attach', id)
  const desk = spawn('script', ['-qfc', `stty cols 100 rows 30; exec ${argv.join(' ')}`, '/dev/null'], {
    env: { ...env, TERM: 'xterm-256color' },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  await stack.eventually('the local terminal has the size', async () => (await size()) === '100x30')

  // The phone watches at the desk's size, and takes it only when asked to.
  const { page, context } = await phoneOn(browser, stack, 'desk')
  await rows(page).waitFor({ timeout: patience })
  expect(await size()).toBe('100x30')
  await page.getByRole('button', { name: 'Fit to phone' }).click()
  await stack.eventually('the phone has the size', async () => (await size()) !== '100x30')
  await page.getByRole('button', { name: 'Session menu' }).click()
  await page.getByRole('menuitem', { name: /hand|give|release/i }).click()
  await stack.eventually('the desk has its size again', async () => (await size()) === '100x30')
  await context.close()
  desk.kill()
})
