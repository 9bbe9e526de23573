import { inputKind, type InputKind } from '@/wire'
import { now } from './clock'
import type { KeptBatch, KeptInput, ReturnReason } from './inputQueue'

/**
 * Input on its way as JSON, for storage between one page and the next: the clock of a page ends with it, so times are
 * those of the wall, and bytes are base64.
 */

/** More than this is not kept as bytes. */
const mostBytes = 200_000
const mostBatches = 8

interface StoredInput {
  seq: number
  kind: InputKind
  data: string
  typed: number
  prompt: string
  lost: boolean
}

interface StoredBatch {
  client: string
  reason: ReturnReason | null
  inputs: StoredInput[]
}

/** What to store of batches, or null when it is too much. */
export function storeKept(batches: readonly KeptBatch[]): StoredBatch[] | null {
  const bytes = batches.flatMap((batch) => batch.inputs).reduce((sum, { data }) => sum + data.length, 0)
  if (bytes > mostBytes || batches.length > mostBatches) return null
  const wall = Date.now() - now()
  return batches.map(({ client, reason, inputs }) => ({
    client,
    reason,
    inputs: inputs.map(({ typedAt, data, ...input }) => ({
      ...input,
      data: btoa(Array.from(data, (byte) => String.fromCharCode(byte)).join('')),
      typed: wall + typedAt,
    })),
  }))
}

/** What was stored, or null when it is anything else. */
export function readKept(stored: unknown): KeptBatch[] | null {
  if (!Array.isArray(stored) || stored.length > mostBatches) return null
  try {
    return stored.map(readBatch)
  } catch {
    return null
  }
}

function readBatch(stored: unknown): KeptBatch {
  const { client, reason, inputs } = stored as StoredBatch
  if (!/^[0-9a-f]{32}$/.test(client) || inputs.length === 0) throw new TypeError('not a batch')
  return { client, reason: typeof reason === 'string' ? reason : null, inputs: inputs.map(readInput) }
}

function readInput({ seq, kind, data, typed, prompt, lost }: StoredInput): KeptInput {
  const known = Object.values(inputKind).includes(kind)
  if (!known || !Number.isSafeInteger(seq) || !Number.isFinite(typed)) throw new TypeError('not an input')
  return {
    seq,
    kind,
    data: Uint8Array.from(atob(data), (character) => character.charCodeAt(0)),
    typedAt: Math.min(now(), typed - (Date.now() - now())),
    prompt: typeof prompt === 'string' ? prompt : '',
    lost: lost === true,
  }
}
