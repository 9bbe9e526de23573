import { drawn, expect, keyboard, phone, tapTwice, test, typed } from './app'

test.use({ ...phone, serviceWorkers: 'block' })

test.beforeEach(async ({ page }) => {
  await page.goto('/s/mac-mini/refactor-auth')
  await drawn(page, 'accept edits on')
})

test('a key tap sends the key by name and leaves the focus where it is', async ({ page }) => {
  const message = page.getByPlaceholder('Message claude…')
  await message.focus()
  for (const name of ['Esc', 'Tab', 'Shift Tab', 'Up', 'y', 'Left', 'Down', 'Right', 'n', 'Enter']) {
    await page.getByRole('button', { name, exact: true }).tap()
    await expect(message).toBeFocused()
  }
  await expect
    .poll(() => typed(page))
    .toEqual(
      ['esc', 'tab', 'shift+tab', 'up', 'y', 'left', 'down', 'right', 'n', 'enter'].map(
        (name) => `keys ${name}`,
      ),
    )
})

test('the toolbar works with the keyboard hidden, and nothing has focus', async ({ page }) => {
  await page.getByRole('button', { name: 'Up', exact: true }).tap()
  await expect.poll(() => typed(page)).toEqual(['keys up'])
  expect(await page.evaluate(() => document.activeElement?.tagName)).not.toBe('TEXTAREA')
})

test('Ctrl for the next key, Alt locked', async ({ page }) => {
  const control = page.getByRole('button', { name: /^Ctrl(,|$)/ })
  await control.tap()
  await expect(control).toHaveAttribute('aria-pressed', 'true')
  await expect(page.getByRole('button', { name: 'Ctrl, next key' })).toBeVisible()
  await page.getByRole('button', { name: 'Left', exact: true }).tap()
  await expect(control).toHaveAttribute('aria-pressed', 'false')

  const alt = page.getByRole('button', { name: /^Alt/ })
  await tapTwice(alt)
  await expect(page.getByRole('button', { name: 'Alt, locked' })).toBeVisible()
  await page.getByRole('button', { name: 'Left', exact: true }).tap()
  await page.getByRole('button', { name: 'Right', exact: true }).tap()
  await expect.poll(() => typed(page)).toEqual(['keys ctrl+left', 'keys alt+left', 'keys alt+right'])
})

test('an armed Ctrl offers its letters in compose mode', async ({ page }) => {
  await page.getByRole('button', { name: 'Ctrl', exact: true }).tap()
  await page.getByRole('button', { name: 'Control R', exact: true }).tap()
  await expect(page.getByRole('button', { name: 'Control R', exact: true })).toBeHidden()
  await expect.poll(() => typed(page)).toEqual(['keys ctrl+r'])
})

test('a second ^C that follows at once is taken for a bounce', async ({ page }) => {
  await tapTwice(
    page.getByRole('toolbar', { name: 'Keys' }).getByRole('button', { name: 'Control C', exact: true }),
  )
  await page.getByRole('button', { name: 'Esc', exact: true }).tap()
  await expect.poll(() => typed(page)).toEqual(['keys ctrl+c', 'keys esc'])
})

test('over the OS keyboard one row stays, and the second comes on demand', async ({ page }) => {
  await page.getByPlaceholder('Message claude…').focus()
  await keyboard(page, 336)
  const toolbar = page.getByRole('toolbar', { name: 'Keys' })
  await expect(toolbar.getByRole('button')).toHaveCount(7)
  await expect(toolbar.getByRole('button', { name: 'y', exact: true })).toHaveCount(0)
  await toolbar.getByRole('button', { name: 'More keys' }).tap()
  await expect(toolbar.getByRole('button')).toHaveCount(14)
  await expect(page.getByPlaceholder('Message claude…')).toBeFocused()
})

test('the app closes the keyboard without sending anything', async ({ page }) => {
  await page.getByPlaceholder('Message claude…').focus()
  await keyboard(page, 336)
  await page.getByRole('button', { name: 'Hide keyboard' }).tap()
  await expect(page.getByPlaceholder('Message claude…')).not.toBeFocused()
  expect(await typed(page)).toEqual([])
})

test('opening and closing the keyboard sends no size', async ({ page }) => {
  await page.getByRole('button', { name: 'Session menu' }).tap()
  await page.getByRole('menuitem', { name: 'Fit to this phone' }).tap()
  await expect.poll(() => page.evaluate(() => window.mock.resizes.length)).toBe(1)
  const full = page.viewportSize()!
  for (let round = 0; round < 5; round++) {
    await page.getByPlaceholder('Message claude…').focus()
    await keyboard(page, 336)
    await expect(page.getByRole('button', { name: 'Hide keyboard' })).toBeVisible()
    await page.getByPlaceholder('Message claude…').blur()
    await page.setViewportSize(full)
    await expect(page.getByRole('button', { name: 'Show keyboard' })).toBeVisible()
    await expect
      .poll(() => page.evaluate(() => document.documentElement.style.getPropertyValue('--app-height')))
      .toBe(`${full.height}px`)
  }
  expect(await page.evaluate(() => window.mock.resizes.length)).toBe(1)
})

test('a finger that swipes up sends what stands above the key', async ({ page }) => {
  const key = page.getByRole('button', { name: 'n', exact: true })
  const box = (await key.boundingBox())!
  await key.evaluate(
    (element, at) => {
      const pointer = (type: string, y: number) =>
        element.dispatchEvent(
          new PointerEvent(type, {
            bubbles: true,
            cancelable: true,
            pointerId: 1,
            clientX: at.x,
            clientY: y,
          }),
        )
      pointer('pointerdown', at.y)
      pointer('pointerup', at.y - 40)
    },
    { x: box.x + 10, y: box.y + 10 },
  )
  await expect.poll(() => typed(page)).toEqual(['keys 2'])
})
