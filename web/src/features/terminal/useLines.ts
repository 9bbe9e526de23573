import { computed, ref, shallowRef, type ComputedRef, type Ref } from 'vue'
import { offsets, type Hit } from './find'
import { createTranscript, type HistoryLine, type Transcript } from './transcript'

export interface Lines {
  /** All that is shown, as one text. */
  text: ComputedRef<string>
  /** The lines that the terminal held when the view was opened. */
  held: ComputedRef<string[]>
  /** The newest line above those, 0 when there is none. */
  newest(): number
  /** Older lines exist. */
  more: Readonly<Ref<boolean>>
  loading: Readonly<Ref<boolean>>
  /** Why the last lines that were asked for did not come, as a sentence. */
  failure: Readonly<Ref<string>>
  /** The view was taken far up; between it and the newest line something is left out. */
  apart: ComputedRef<boolean>
  /** Takes what the terminal holds now, and the first lines above it. */
  begin(): Promise<void>
  older(): Promise<void>
  /** Shows a hit, fetching the lines around it if need be; false when they did not come. */
  reach(hit: Hit): Promise<boolean>
  /** Leaves the lines far up for those that were shown before. */
  toNewest(): void
  /** Where a hit stands in text; null when it is not there. */
  place(hit: Hit): { start: number; end: number } | null
}

/** A session's text as it is read: what the terminal holds, and pages of lines above it or around a line far up. */
export function useLines(source: Transcript): Lines {
  const transcript = createTranscript(source)
  const history = shallowRef<readonly HistoryLine[]>([])
  const buffer = ref('')
  const more = ref(true)
  const loading = ref(false)
  const failure = ref('')
  /** What was shown before a jump far up, to come back to. */
  const left = shallowRef<{ history: readonly HistoryLine[]; more: boolean; before: number } | null>(null)

  const held = computed(() => buffer.value.split('\n'))
  const text = computed(() => {
    const above = history.value.map((line) => line.text)
    return (left.value === null ? [...above, buffer.value] : above).join('\n')
  })

  /** Runs one fetch of lines at a time; false when another one is under way or it failed. */
  async function fetching(fetch: () => Promise<void>): Promise<boolean> {
    if (loading.value) return false
    loading.value = true
    failure.value = ''
    try {
      await fetch()
      return true
    } catch (error) {
      failure.value = error instanceof Error ? error.message : String(error)
      return false
    } finally {
      loading.value = false
    }
  }

  async function older(): Promise<void> {
    if (!more.value) return
    await fetching(async () => {
      const page = await transcript.older(held.value)
      history.value = [...page.lines, ...history.value]
      more.value = page.more
    })
  }

  async function begin(): Promise<void> {
    buffer.value = source.buffer().trimEnd()
    await older()
  }

  async function reach(hit: Hit): Promise<boolean> {
    if (hit.in === 'buffer') toNewest()
    if (place(hit) !== null) return true
    return fetching(async () => {
      const back = left.value ?? { history: history.value, more: more.value, before: transcript.before }
      const page = await transcript.around(hit.line)
      left.value = back
      history.value = page.lines
      more.value = page.more
    })
  }

  function toNewest(): void {
    const back = left.value
    if (back === null) return
    left.value = null
    history.value = back.history
    more.value = back.more
    transcript.goBackTo(back.before)
  }

  function place(hit: Hit): { start: number; end: number } | null {
    let offset = 0
    for (const line of history.value) {
      if (hit.in === 'history' && line.id === hit.line) {
        const { start, end } = offsets(line.text, hit.start, hit.end)
        return { start: offset + start, end: offset + end }
      }
      offset += line.text.length + 1
    }
    if (hit.in === 'history' || left.value !== null) return null
    for (const line of held.value.slice(0, hit.line)) offset += line.length + 1
    return { start: offset + hit.start, end: offset + hit.end }
  }

  return {
    text,
    held,
    newest: () => transcript.newest,
    more,
    loading,
    failure,
    apart: computed(() => left.value !== null),
    begin,
    older,
    reach,
    toNewest,
    place,
  }
}
