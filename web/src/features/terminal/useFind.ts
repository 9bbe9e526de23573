import { computed, onScopeDispose, ref, shallowRef, watch, type ComputedRef, type Ref } from 'vue'
import { useSessionsStore } from '@/stores/sessions'
import { ApiError } from '@/stores/types'
import { hitsInBuffer, hitsInHistory, type Hit } from './find'

/** How long after the last letter the search begins, in ms. */
const typingPause = 300
/** Answers without a usable match after which a search rests until it is asked to go on. */
const emptyAnswers = 4

export interface Find {
  query: Ref<string>
  /** Newest first. */
  hits: Readonly<Ref<readonly Hit[]>>
  current: ComputedRef<Hit | null>
  /** "3 of 27", "200+", "None"; empty while nothing is looked for. */
  count: ComputedRef<string>
  busy: Readonly<Ref<boolean>>
  /** Why not everything was searched, as a sentence; empty when it was. */
  trouble: Readonly<Ref<string>>
  mayGoOlder: ComputedRef<boolean>
  mayGoNewer: ComputedRef<boolean>
  older(): Promise<void>
  newer(): void
}

interface Place {
  host: string
  id: string
  /** The lines that the terminal holds. */
  lines(): string[]
  /** The newest line above them, 0 when there is none. */
  newest(): number
}

/** Finds a text in what is shown and in everything above it: here what the terminal holds, on the server the rest. */
export function useFind(place: Place): Find {
  const store = useSessionsStore()
  const query = ref('')
  const hits = shallowRef<readonly Hit[]>([])
  const at = ref(0)
  const next = ref<string | null>(null)
  const busy = ref(false)
  const trouble = ref('')
  let timer: ReturnType<typeof setTimeout> | undefined
  let running: AbortController | null = null

  function stop() {
    clearTimeout(timer)
    running?.abort()
    running = null
    busy.value = false
  }

  watch(query, (text) => {
    stop()
    at.value = 0
    next.value = null
    trouble.value = ''
    hits.value = hitsInBuffer(place.lines(), text)
    if (text !== '') timer = setTimeout(() => void ask(), typingPause)
  })
  onScopeDispose(stop)

  /** Asks the server from where it stopped, until it brings a match above what the terminal holds. */
  async function ask() {
    stop()
    const mine = (running = new AbortController())
    const text = query.value
    busy.value = true
    try {
      for (let answers = 0; answers < emptyAnswers; answers++) {
        const found = await store.search(place.host, place.id, text, {
          signal: mine.signal,
          ...(next.value === null ? {} : { cursor: next.value }),
        })
        if (running !== mine) return
        const above = hitsInHistory(found, place.newest())
        hits.value = [...hits.value, ...above]
        next.value = found.next
        trouble.value = found.complete ? '' : 'Older lines are on the host alone, which is away.'
        if (above.length > 0 || found.next === null) break
      }
    } catch (error) {
      if (running !== mine) return
      const why = error instanceof ApiError ? error.message : String(error)
      trouble.value = `Earlier lines were not searched. ${why}`
    } finally {
      if (running === mine) stop()
    }
  }

  const mayGoOlder = computed(() => at.value + 1 < hits.value.length || next.value !== null)
  const mayGoNewer = computed(() => at.value > 0)

  async function older() {
    if (at.value + 1 >= hits.value.length && next.value !== null) await ask()
    if (at.value + 1 < hits.value.length) at.value++
  }

  function newer() {
    if (at.value > 0) at.value--
  }

  const count = computed(() => {
    if (query.value === '') return ''
    const known = hits.value.length
    if (known === 0) return busy.value || next.value !== null ? '' : 'None'
    return `${at.value + 1} of ${known}${next.value === null ? '' : '+'}`
  })

  return {
    query,
    hits,
    current: computed(() => hits.value[at.value] ?? null),
    count,
    busy,
    trouble,
    mayGoOlder,
    mayGoNewer,
    older,
    newer,
  }
}
