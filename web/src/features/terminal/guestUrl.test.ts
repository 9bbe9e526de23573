import { expect, it } from 'vitest'
import { guestUrl } from './guestUrl'

it('leads to the page for guests, with the secret in the fragment only', () => {
  expect(guestUrl('https://helm.example/#t=secret')).toBe('https://helm.example/watch#t=secret')
})
