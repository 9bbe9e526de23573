import { fireEvent, render, screen } from '@testing-library/vue'
import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, describe, expect, it } from 'vitest'
import { useDraftsStore } from '@/stores/drafts'
import { usePrefsStore } from '@/stores/prefs'
import ComposeBox from './ComposeBox.vue'

const props = {
  sessionKey: 'mac-mini/api',
  placeholder: 'Message claude…',
  keyboardOpen: false,
  disabled: false,
  paletteOpen: false,
  direct: false,
}

describe('the message box', () => {
  beforeEach(() => {
    localStorage.clear()
    setActivePinia(createPinia())
  })

  function box() {
    return screen.getByLabelText<HTMLTextAreaElement>('Message claude…')
  }

  async function type(text: string) {
    box().value = text
    await fireEvent(box(), new Event('input'))
  }

  it('saves every change as the draft and shows it again', async () => {
    const first = render(ComposeBox, { props })
    await type('half a thought')
    expect(useDraftsStore().text('mac-mini/api')).toBe('half a thought')
    first.unmount()
    render(ComposeBox, { props })
    expect(box().value).toBe('half a thought')
  })

  it('never writes into the field while a person composes', async () => {
    render(ComposeBox, { props })
    let writes = 0
    const field = box()
    const value = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value')!
    await type('nihao')
    Object.defineProperty(field, 'value', {
      get: () => value.get!.call(field) as string,
      set: (text: string) => {
        writes++
        value.set!.call(field, text)
      },
    })
    await fireEvent(field, new CompositionEvent('compositionstart'))
    await fireEvent(field, new Event('input'))
    await fireEvent(field, new Event('input'))
    expect(writes).toBe(0)
  })

  it('sends once, and is empty afterwards', async () => {
    const view = render(ComposeBox, { props })
    await type('run the tests')
    await fireEvent.click(screen.getByRole('button', { name: 'Send' }))
    expect(view.emitted()['send']).toEqual([['run the tests']])
    expect(box().value).toBe('')
    expect(useDraftsStore().text('mac-mini/api')).toBe('')
  })

  it('blank text cannot be sent', async () => {
    render(ComposeBox, { props })
    await type('  \n ')
    expect(screen.getByRole('button', { name: 'Send' }).hasAttribute('disabled')).toBe(true)
  })

  it.each([
    ['a real Enter sends', {}, { key: 'Enter' }, false, 1],
    ['Shift and Enter begin a new line', {}, { key: 'Enter', shiftKey: true }, false, 0],
    ['Enter that ends a composition does not send', {}, { key: 'Enter', isComposing: true }, false, 0],
    ['Return of an on-screen keyboard begins a new line', { keyboardOpen: true }, { key: 'Enter' }, false, 0],
    ['Return sends if so chosen', { keyboardOpen: true }, { key: 'Enter' }, true, 1],
  ])('%s', async (_, change, press, returnSends, sent) => {
    usePrefsStore().returnSends = returnSends
    const view = render(ComposeBox, { props: { ...props, ...change } })
    await type('go on')
    await fireEvent(box(), new KeyboardEvent('keydown', { ...press, cancelable: true }))
    expect(view.emitted()['send'] ?? []).toHaveLength(sent)
  })

  it('shows text that comes back from elsewhere', async () => {
    render(ComposeBox, { props })
    useDraftsStore().set('mac-mini/api', 'returned')
    await Promise.resolve()
    expect(box().value).toBe('returned')
  })
})
