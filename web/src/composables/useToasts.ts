import {
  inject,
  onScopeDispose,
  provide,
  readonly,
  ref,
  type DeepReadonly,
  type InjectionKey,
  type Ref,
} from 'vue'

export interface Toast {
  id: number
  text: string
  kind: 'progress' | 'done' | 'error' | 'info'
  action?: { label: string; run: () => void }
}

export interface Toasts {
  toasts: DeepReadonly<Ref<Toast[]>>
  /** Shows a toast; an error stays until it is closed, all others go after 4 s. Returns its id. */
  show(toast: Omit<Toast, 'id'>): number
  dismiss(id: number): void
}

const key: InjectionKey<Toasts> = Symbol('toasts')
const shownFor = 4000
const most = 3

/** Creates the app's toasts; called once by App. */
export function provideToasts(): Toasts {
  const toasts = ref<Toast[]>([])
  const timers = new Map<number, ReturnType<typeof setTimeout>>()
  let last = 0

  function dismiss(id: number) {
    clearTimeout(timers.get(id))
    timers.delete(id)
    toasts.value = toasts.value.filter((toast) => toast.id !== id)
  }

  function show(toast: Omit<Toast, 'id'>): number {
    const id = ++last
    toasts.value.push({ ...toast, id })
    for (const old of toasts.value.slice(0, -most)) dismiss(old.id)
    if (toast.kind !== 'error')
      timers.set(
        id,
        setTimeout(() => dismiss(id), shownFor),
      )
    return id
  }

  onScopeDispose(() => timers.forEach((timer) => clearTimeout(timer)))
  const api: Toasts = { toasts: readonly(ref(toasts)) as Toasts['toasts'], show, dismiss }
  provide(key, api)
  return api
}

export function useToasts(): Toasts {
  const toasts = inject(key)
  if (!toasts) throw new Error('useToasts needs provideToasts in a parent')
  return toasts
}
