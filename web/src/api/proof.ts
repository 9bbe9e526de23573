/**
 * The second credential of a cookie session (THREATS S-8): browsers send cookies to every port of a host, so on plain
 * HTTP the cookie alone proves nothing. The proof lives in this origin's storage, where no other port can read it.
 */
const key = 'agent-helm.proof'

export function loadProof(): string {
  try {
    return localStorage.getItem(key) ?? ''
  } catch {
    return ''
  }
}

export function saveProof(proof: string): void {
  try {
    if (proof === '') localStorage.removeItem(key)
    else localStorage.setItem(key, proof)
  } catch {
    // Without storage the device stays signed in until the page is closed.
  }
}
