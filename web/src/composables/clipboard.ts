/**
 * Copies text; call it from a tap. On plain HTTP there is no clipboard API, so a hidden field and the old command
 * do it there. Answers whether the text was copied.
 */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      // Not allowed here or now; the old way may still be.
    }
  }
  const field = document.createElement('textarea')
  field.value = text
  field.readOnly = true
  field.className = 'hidden-text'
  const parent = document.activeElement?.closest('dialog') ?? document.body
  const focused = document.activeElement
  parent.append(field)
  field.select()
  const copied = document.execCommand('copy')
  field.remove()
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true })
  return copied
}

/** Reads the clipboard; call it synchronously from a tap. Null where that is not possible or not allowed. */
export async function readClipboard(): Promise<string | null> {
  try {
    return (await navigator.clipboard?.readText()) ?? null
  } catch {
    return null
  }
}
