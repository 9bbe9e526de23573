import { useRouter } from 'vue-router'
import { copyText } from '@/composables/clipboard'
import { useToasts } from '@/composables/useToasts'
import { useLinkStore } from '@/stores/link'

/** What the session's menu does without the session: its address, and leaving it for good. */
export function useErrands(host: string, id: string): { copyLink(): Promise<void>; leave(): Promise<void> } {
  const router = useRouter()
  const link = useLinkStore()
  const { show } = useToasts()

  async function copyLink() {
    const { href } = router.resolve({ name: 'session', params: { host, session: id } })
    const copied = await copyText(new URL(href, location.href).href)
    show(
      copied
        ? { kind: 'done', text: 'Link copied.' }
        : { kind: 'error', text: 'The browser did not let us copy.' },
    )
  }

  /** A guest gives the access back. */
  async function leave() {
    try {
      await link.signOut()
    } catch (error) {
      show({ kind: 'error', text: error instanceof Error ? error.message : String(error) })
    }
  }

  return { copyLink, leave }
}
