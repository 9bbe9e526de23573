import { onScopeDispose, readonly, ref, type Ref } from 'vue'

/** Whether a media query matches, now and later. */
export function useMediaQuery(query: string): Readonly<Ref<boolean>> {
  const list = window.matchMedia(query)
  const matches = ref(list.matches)
  const update = () => {
    matches.value = list.matches
  }
  list.addEventListener('change', update)
  onScopeDispose(() => list.removeEventListener('change', update))
  return readonly(matches)
}

/** From this width on, list and terminal stand side by side. */
export const deskQuery = '(min-width: 62.5rem)'
