import { deskOn, shows } from './phone'
import { Recorder } from './recorder'
import { expect, patience, test } from './stack'

/** Glyphs that fonts draw in other widths than the terminal counts, by what they are. */
const glyphs = {
  'check mark': '✅',
  'cross mark': '❌',
  hourglass: '⏳',
  'family of two': '👩‍👦',
  'family of three': '👨‍👩‍👧',
  'family of four': '👩‍👩‍👧‍👦',
  profession: '👩‍💻',
  'rainbow flag': '🏳️‍🌈',
  'skin tone': '👍🏽',
  flag: '🇩🇪',
  keycap: '1️⃣',
  'heart as picture': '❤️',
  'heart as text': '❤',
  'warning sign': '⚠️',
  spinner: '⠋',
  star: '✳',
  ideographs: '漢字',
  hangul: '한국',
  'half-width katakana': 'ｱ',
  'full-width letters': 'ＡＢ',
  'combining accent': 'e\u0301',
  'zero-width space': 'a\u200bb',
  box: '─┼─',
}

test('text behind wide characters stands in the column that the host counts', async ({ browser, stack }) => {
  const names = Object.keys(glyphs)
  const recorder = await Recorder.start(
    stack,
    'columns',
    '',
    ...Object.values(glyphs).map((glyph, i) => `\x1b[H\x1b[2Jno-${i}.\x1b[3;1H${glyph}|`),
  )
  const { page, context } = await deskOn(browser, stack, 'columns')
  await shows(page, 'recording')
  for (const [i, name] of names.entries()) {
    await page.keyboard.type('G')
    await shows(page, `no-${i}.`)
    let behind = -1
    let cols = 0
    await stack.eventually('the server has it', async () => {
      const screen = (await stack.api('GET', `/api/sessions/${recorder.id}/screen?format=json`)) as {
        cursor_x: number
        cols: number
        lines: { runs: { t: string }[] }[]
      }
      behind = screen.cursor_x - 1
      cols = screen.cols
      return screen.lines[0]?.runs[0]?.t.startsWith(`no-${i}.`) ?? false
    })
    const column = () =>
      page.evaluate((cols) => {
        const screen = document.querySelector('.xterm-screen:not(.term-frozen)')
        const row = screen?.querySelector('.xterm-rows')?.children[2]
        if (!screen || !row) return null
        const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT)
        while (texts.nextNode()) {
          const text = texts.currentNode.textContent ?? ''
          const at = text.indexOf('|')
          if (at < 0) continue
          const range = document.createRange()
          range.setStart(texts.currentNode, at)
          range.setEnd(texts.currentNode, at + 1)
          const box = screen.getBoundingClientRect()
          // To a tenth of a cell: less is not seen.
          return Math.round(((range.getBoundingClientRect().left - box.left) / box.width) * cols * 10) / 10
        }
        return null
      }, cols)
    await expect
      .poll(async () => Math.abs(((await column()) ?? NaN) - behind) <= 0.1, {
        message: name,
        timeout: patience,
      })
      .toBe(true)
  }
  await context.close()
})
