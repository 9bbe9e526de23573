import { computed, type ComputedRef } from 'vue'
import { useSheet } from '@/composables/useSheet'

/** The session shown as text, to read (`?v=text`) or to look for something (`?v=find`). */
export function useAsText(): {
  open: ComputedRef<boolean>
  finding: ComputedRef<boolean>
  read(): void
  find(): void
  close(): void
} {
  const reading = useSheet('text', 'v')
  const finding = useSheet('find', 'v')

  return {
    open: computed(() => reading.open.value || finding.open.value),
    finding: finding.open,
    read: reading.show,
    find: finding.show,
    close: () => (finding.open.value ? finding.close() : reading.close()),
  }
}
