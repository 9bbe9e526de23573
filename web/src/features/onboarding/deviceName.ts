/** A name for this device that a person recognises in a list: "iPhone", "Chrome on Android". */
export function deviceName(userAgent = navigator.userAgent): string {
  const system =
    /iPhone|iPad/.exec(userAgent)?.[0] ??
    (/Android/.test(userAgent)
      ? 'Android'
      : /Mac OS X/.test(userAgent)
        ? 'Mac'
        : /Windows/.test(userAgent)
          ? 'Windows'
          : 'Linux')
  if (system === 'iPhone' || system === 'iPad') return system
  const browser = /Edg\//.test(userAgent)
    ? 'Edge'
    : /Firefox\//.test(userAgent)
      ? 'Firefox'
      : /Chrome\//.test(userAgent)
        ? 'Chrome'
        : 'Safari'
  return `${browser} on ${system}`
}
