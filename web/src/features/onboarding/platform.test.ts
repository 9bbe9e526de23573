import { describe, expect, it } from 'vitest'
import { platformOf } from './platform'

const iphone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 27_2 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1'
const mac = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Safari/605.1.15'
const pixel = 'Mozilla/5.0 (Linux; Android 16; Pixel 9) AppleWebKit/537.36 Chrome/157.0 Mobile Safari/537.36'

describe('where the app runs', () => {
  it.each([
    ['an iPhone', iphone, 5, false, 'ios'],
    ['an iPad, which says that it is a Mac', mac, 5, false, 'ios'],
    ['a Mac', mac, 0, false, 'desk'],
    ['Android', pixel, 5, false, 'android'],
    ['the Home Screen', iphone, 5, true, 'installed'],
  ] as const)('%s', (_name, agent, touchPoints, standalone, expected) =>
    expect(platformOf(agent, touchPoints, standalone)).toBe(expected),
  )
})
