import type { CDPSession, Page } from '@playwright/test'

/** One finger on the glass: real touch, as the browser sees it. */
export class Finger {
  private constructor(
    private readonly page: Page,
    private readonly devtools: CDPSession,
  ) {}

  static async of(page: Page): Promise<Finger> {
    return new Finger(page, await page.context().newCDPSession(page))
  }

  private async send(
    type: 'touchStart' | 'touchMove' | 'touchEnd',
    ...touchPoints: { x: number; y: number }[]
  ) {
    await this.devtools.send('Input.dispatchTouchEvent', { type, touchPoints })
  }

  down = (x: number, y: number) => this.send('touchStart', { x, y })
  move = (x: number, y: number) => this.send('touchMove', { x, y })
  up = () => this.send('touchEnd')

  async tap(x: number, y: number): Promise<void> {
    await this.down(x, y)
    await this.up()
  }

  /** Moves from one height to another, rests and leaves, so that nothing goes on by itself. */
  async drag(x: number, from: number, to: number): Promise<void> {
    await this.down(x, from)
    for (let step = 1; step <= 10; step++) await this.move(x, from + ((to - from) * step) / 10)
    await this.page.evaluate(async () => {
      const from = performance.now()
      while (performance.now() - from < 150) await new Promise(requestAnimationFrame)
    })
    await this.up()
  }
}
