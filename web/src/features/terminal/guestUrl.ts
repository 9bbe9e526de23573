/**
 * The server's link with a path of its own, so that the page which opens it says "watch" instead of "pair". The secret
 * stays in the fragment.
 */
export function guestUrl(link: string): string {
  const url = new URL(link)
  url.pathname = `${url.pathname.replace(/\/$/, '')}/watch`
  return url.href
}
