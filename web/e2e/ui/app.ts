import { expect, test as base, type Locator, type Page } from '@playwright/test'

export { expect }

/** What the mock in the page offers (web/mock/server.ts). */
export interface Mock {
  typed: { session: string; kind: string; text: string }[]
  requests: { method: string; path: string; body: unknown }[]
  resizes: { session: string; cols: number; rows: number }[]
  cut(stay?: boolean): void
  restore(): void
  change(id: string, change: object): void
  print(id: string, text: string): void
  ask(id: string, hostName: string): void
  host(name: string, online: boolean): void
  end(why: 'revoked' | 'unauthenticated'): void
  pair(device: { id: string; name: string; address: string; guest?: boolean }): void
}

declare global {
  interface Window {
    mock: Mock
  }
}

/** A phone in portrait. */
export const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
export const desk = { viewport: { width: 1280, height: 800 }, hasTouch: false, isMobile: false }

/** Fails a test whose page broke the content security policy, threw, or logged an error. */
export const test = base.extend<{ watched: void }>({
  watched: [
    async ({ page }, use) => {
      const faults: string[] = []
      page.on('pageerror', (error) => faults.push(error.message))
      page.on('console', (message) => {
        if (message.type() === 'error') faults.push(message.text())
      })
      await page.addInitScript(() => {
        document.addEventListener('securitypolicyviolation', (violation) => {
          console.error(`policy violated: ${violation.effectiveDirective} ${violation.sample}`)
        })
      })
      await use()
      expect(faults).toEqual([])
    },
    { auto: true },
  ],
})

/** Waits until the session's picture is drawn. */
export async function drawn(page: Page, text: string): Promise<void> {
  await expect(page.locator('.xterm-screen:not(.term-frozen) .xterm-rows')).toContainText(text)
}

/** Keys and texts the mock's program got, in order. */
export function typed(page: Page): Promise<string[]> {
  return page.evaluate(() => window.mock.typed.map((input) => `${input.kind} ${input.text}`))
}

/** Raises an on-screen keyboard of this height, as Chrome on Android does: the window gets smaller. */
export async function keyboard(page: Page, height: number): Promise<void> {
  const size = page.viewportSize()!
  await page.setViewportSize({ width: size.width, height: size.height - height })
}

/** One finger moves from one height to another, rests, and leaves: real touch, as the browser sees it. */
export async function drag(page: Page, from: number, to: number): Promise<void> {
  const steps = 15
  const devtools = await page.context().newCDPSession(page)
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', y?: number) =>
    devtools.send('Input.dispatchTouchEvent', { type, touchPoints: y === undefined ? [] : [{ x: 150, y }] })
  await touch('touchStart', from)
  for (let step = 1; step <= steps; step++) await touch('touchMove', from + ((to - from) * step) / steps)
  // A finger that leaves while moving throws the text; this one has come to rest.
  await page.evaluate(async () => {
    const from = performance.now()
    while (performance.now() - from < 150) await new Promise(requestAnimationFrame)
  })
  await touch('touchEnd')
  await devtools.detach()
}

/** Two taps on a key without any time between them, however busy the machine is. */
export async function tapTwice(key: Locator): Promise<void> {
  await key.evaluate((element) => {
    for (const type of ['pointerdown', 'pointerup', 'pointerdown', 'pointerup']) {
      element.dispatchEvent(new PointerEvent(type, { bubbles: true, cancelable: true, pointerId: 1 }))
    }
  })
}
