import { inject, provide, readonly, ref, type InjectionKey, type Ref } from 'vue'

export interface Announcer {
  /** What the one polite live region says. */
  message: Readonly<Ref<string>>
  announce(text: string): void
}

const key: InjectionKey<Announcer> = Symbol('announcer')

/** Creates the app's voice for screen readers; called once by App. */
export function provideAnnouncer(): Announcer {
  const message = ref('')
  const api: Announcer = {
    message: readonly(message),
    announce(text) {
      // The same sentence twice must be heard twice: a trailing no-break space makes it a new text.
      message.value = message.value === text ? `${text}\u00a0` : text
    },
  }
  provide(key, api)
  return api
}

export function useAnnouncer(): Announcer {
  const announcer = inject(key)
  if (!announcer) throw new Error('useAnnouncer needs provideAnnouncer in a parent')
  return announcer
}
