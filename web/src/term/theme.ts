import type { ITheme } from '@xterm/xterm'

const names = [
  'black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white',
  'brightBlack', 'brightRed', 'brightGreen', 'brightYellow', 'brightBlue', 'brightMagenta', 'brightCyan', 'brightWhite',
] as const // prettier-ignore

/** The terminal's colours as the design tokens of this element say them now. Tokens that are missing are left out. */
export function readTheme(element: Element): ITheme {
  const style = getComputedStyle(element)
  const token = (name: string) => style.getPropertyValue(name).trim() || undefined
  const theme: ITheme = {
    background: token('--term-bg'),
    foreground: token('--term-fg'),
    cursor: token('--term-cursor'),
    cursorAccent: token('--term-bg'),
    selectionBackground: token('--term-sel'),
  }
  names.forEach((name, index) => {
    theme[name] = token(`--ansi-${index}`)
  })
  return theme
}

/** The fonts of the terminal. */
export function readFont(element: Element): string {
  return getComputedStyle(element).getPropertyValue('--font-mono').trim() || 'monospace'
}

/** The colour of an entry of the 256-colour palette as CSS; the first 16 are the theme's. */
export function paletteColour(index: number): string {
  if (index < 16) return `var(--ansi-${index})`
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10
    return `rgb(${grey} ${grey} ${grey})`
  }
  const level = (n: number) => (n === 0 ? 0 : 55 + n * 40)
  const cube = index - 16
  return `rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`
}
