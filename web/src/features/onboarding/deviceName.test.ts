import { describe, expect, it } from 'vitest'
import { deviceName } from './deviceName'

describe('the name of a device', () => {
  it.each([
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 27_2 like Mac OS X) AppleWebKit/605.1.15 Version/27.2 Safari/604.1',
      'iPhone',
    ],
    [
      'Mozilla/5.0 (Linux; Android 16; Pixel 9) AppleWebKit/537.36 Chrome/157.0 Mobile Safari/537.36',
      'Chrome on Android',
    ],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:160.0) Gecko/20100101 Firefox/160.0', 'Firefox on Linux'],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/27.2 Safari/605.1.15',
      'Safari on Mac',
    ],
  ])('%s', (agent, name) => expect(deviceName(agent)).toBe(name))
})
