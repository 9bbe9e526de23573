/** The browser has taken a download over by then, in ms. */
const takenAfter = 60_000

/** Hands a file to the browser's own download. A link to the server would not carry this browser's proof. */
export function saveAs(content: Blob, name: string): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), takenAfter)
}
