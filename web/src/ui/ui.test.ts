import { fireEvent, render, screen } from '@testing-library/vue'
import { describe, expect, it, vi } from 'vitest'
import { defineComponent, ref } from 'vue'
import AppBanner from './AppBanner.vue'
import AppButton from './AppButton.vue'
import AppField from './AppField.vue'
import AppMenu from './AppMenu.vue'
import AppSegments from './AppSegments.vue'
import AppSheet from './AppSheet.vue'
import AppSwitch from './AppSwitch.vue'
import KeyButton from './KeyButton.vue'

describe('AppButton', () => {
  it('is a plain button by default, and rests while its work is under way', async () => {
    const view = render(AppButton, { slots: { default: 'Start' } })
    const button = screen.getByRole('button', { name: 'Start' })
    expect(button.getAttribute('type')).toBe('button')
    await view.rerender({ busy: true })
    expect(button.hasAttribute('disabled')).toBe(true)
    expect(button.getAttribute('aria-busy')).toBe('true')
  })
})

describe('AppSwitch', () => {
  it('is a native switch with its label as name', async () => {
    const on = vi.fn()
    render(AppSwitch, { props: { label: 'Direct', modelValue: false, 'onUpdate:modelValue': on } })
    await fireEvent.click(screen.getByRole('switch', { name: 'Direct' }))
    expect(on).toHaveBeenCalledWith(true)
  })
})

describe('AppSegments', () => {
  it('is a radio group', async () => {
    const chosen = vi.fn()
    render(AppSegments, {
      props: {
        label: 'Theme',
        options: [
          { value: 'dark', label: 'Dark' },
          { value: 'light', label: 'Light' },
        ],
        modelValue: 'dark',
        'onUpdate:modelValue': chosen,
      },
    })
    expect(screen.getByRole('group', { name: 'Theme' })).toBeTruthy()
    await fireEvent.click(screen.getByRole('radio', { name: 'Light' }))
    expect(chosen).toHaveBeenCalledWith('light')
  })
})

describe('AppField', () => {
  it('ties its error to the input', () => {
    render(AppField, { props: { label: 'Name', error: 'That name is taken.', modelValue: 'x' } })
    const input = screen.getByLabelText('Name')
    expect(input.getAttribute('aria-invalid')).toBe('true')
    const note = document.getElementById(input.getAttribute('aria-describedby') ?? '')
    expect(note?.textContent).toBe('That name is taken.')
  })
})

describe('AppBanner', () => {
  it('says the state, the age and offers one action', async () => {
    const view = render(AppBanner, {
      props: { icon: 'refresh', title: 'Reconnecting', detail: 'screen is 12 s old', action: 'Retry' },
    })
    expect(view.container.textContent).toContain('Reconnecting · screen is 12 s old')
    await fireEvent.click(screen.getByRole('button', { name: 'Retry' }))
    expect(view.emitted()['action']).toHaveLength(1)
  })
})

describe('AppMenu', () => {
  const items = [
    { id: 'fit', label: 'Fit', note: 'now 80 × 24' },
    { id: 'gone', label: 'Gone', disabled: true },
    { id: 'stop', label: 'Stop…', danger: true },
  ]

  it('moves through what can be chosen with the arrows, round and round', async () => {
    render(AppMenu, { props: { label: 'Session menu', items } })
    const [fit, , stop] = screen.getAllByRole('menuitem', { hidden: true })
    fit?.focus()
    await fireEvent.keyDown(fit!, { key: 'ArrowDown' })
    expect(document.activeElement).toBe(stop)
    await fireEvent.keyDown(stop!, { key: 'ArrowDown' })
    expect(document.activeElement).toBe(fit)
    await fireEvent.keyDown(fit!, { key: 'End' })
    expect(document.activeElement).toBe(stop)
  })
})

describe('AppSheet', () => {
  const Host = defineComponent({
    components: { AppSheet },
    setup: () => ({ open: ref(false) }),
    template: `<button @click="open = true">Open</button>
      <AppSheet v-if="open" title="Stop api-server" @close="open = false"><p>text</p></AppSheet>`,
  })

  it('is a dialog named by its title, closed by its button, and gives the focus back', async () => {
    render(Host)
    const opener = screen.getByRole('button', { name: 'Open' })
    opener.focus()
    await fireEvent.click(opener)
    expect(screen.getByRole('dialog', { name: 'Stop api-server' })).toBeTruthy()
    await fireEvent.click(screen.getByRole('button', { name: 'Close' }))
    expect(screen.queryByRole('dialog')).toBeNull()
    expect(document.activeElement).toBe(opener)
  })

  it('closes on Escape and on its scrim, not on its content', async () => {
    render(Host)
    await fireEvent.click(screen.getByRole('button', { name: 'Open' }))
    await fireEvent.click(screen.getByText('text'))
    expect(screen.queryByRole('dialog')).not.toBeNull()
    await fireEvent(screen.getByRole('dialog'), new Event('cancel', { cancelable: true }))
    expect(screen.queryByRole('dialog')).toBeNull()
    await fireEvent.click(screen.getByRole('button', { name: 'Open' }))
    await fireEvent.click(screen.getByRole('dialog'))
    expect(screen.queryByRole('dialog')).toBeNull()
  })
})

describe('KeyButton', () => {
  it('prevents the default of pointerdown and mousedown, so that no tap moves the focus', async () => {
    render(KeyButton, { props: { label: 'Esc', spoken: 'Esc' } })
    const key = screen.getByRole('button', { name: 'Esc' })
    for (const type of ['pointerdown', 'mousedown']) {
      const press = new MouseEvent(type, { bubbles: true, cancelable: true })
      await fireEvent(key, press)
      expect(press.defaultPrevented, type).toBe(true)
    }
  })

  it('presses once for a tap, and for a click without a pointer', async () => {
    const view = render(KeyButton, { props: { label: 'Esc', spoken: 'Esc' } })
    const key = screen.getByRole('button', { name: 'Esc' })
    await fireEvent(key, new MouseEvent('pointerdown', { bubbles: true, cancelable: true }))
    await fireEvent(key, new MouseEvent('pointerup', { bubbles: true }))
    await fireEvent(key, new MouseEvent('click', { bubbles: true, detail: 1 }))
    expect(view.emitted()['press']).toHaveLength(1)
    await fireEvent(key, new MouseEvent('click', { bubbles: true, detail: 0 }))
    expect(view.emitted()['press']).toHaveLength(2)
  })

  it.each([
    ['off', 'Ctrl', 'false'],
    ['next', 'Ctrl, next key', 'true'],
    ['lock', 'Ctrl, locked', 'true'],
  ] as const)('a modifier that is %s says so in words', (sticky, name, pressed) => {
    render(KeyButton, { props: { label: 'Ctrl', spoken: 'Ctrl', sticky } })
    expect(screen.getByRole('button', { name }).getAttribute('aria-pressed')).toBe(pressed)
  })
})
