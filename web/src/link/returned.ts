import { inputKind } from '@/wire'
import type { PendingInput } from './inputQueue'
import { keyLabel, readBytes } from './keyNames'

const decoder = new TextDecoder()

/**
 * Inputs as a person reads them: text as it was typed (with its own corrections applied), keys by name, such as
 * `git status 2 keys (⏎ ↑)`. Messages to an agent stand on lines of their own.
 */
export function describeInputs(inputs: readonly Pick<PendingInput, 'kind' | 'data'>[]): string {
  const parts: string[] = []
  let typed = ''
  let keys: string[] = []
  const endTyped = () => {
    if (typed !== '') parts.push(typed)
    typed = ''
  }
  const endKeys = () => {
    if (keys.length > 0)
      parts.push(`${keys.length} ${keys.length === 1 ? 'key' : 'keys'} (${keys.join(' ')})`)
    keys = []
  }
  const key = (name: string) => {
    if (name === 'backspace' && typed !== '') {
      typed = [...typed].slice(0, -1).join('')
      return
    }
    endTyped()
    keys.push(keyLabel(name))
  }
  for (const input of inputs) {
    const text = decoder.decode(input.data)
    if (input.kind === inputKind.keys) {
      for (const name of text.split(' ')) key(name)
    } else if (input.kind === inputKind.bytes) {
      for (const piece of readBytes(input.data)) {
        if ('key' in piece) {
          key(piece.key)
        } else {
          endKeys()
          typed += piece.text
        }
      }
    } else {
      endKeys()
      if (input.kind === inputKind.submit && typed !== '') typed += '\n'
      typed += text
      if (input.kind === inputKind.submit) endTyped()
    }
  }
  endTyped()
  endKeys()
  return parts.reduce(
    (all, part) => (all === '' ? part : all + (/ keys? \(/.test(` ${part}`) ? ' ' : '\n') + part),
    '',
  )
}
