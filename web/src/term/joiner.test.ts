import { describe, expect, it } from 'vitest'
import { joinedPictures } from './joiner'

describe('joinedPictures', () => {
  it('finds what a font draws as one picture', () => {
    for (const picture of ['👩‍👩‍👧‍👦', '👩🏽‍💻', '👍🏽', '🇩🇪', '❤️‍🔥', '🏳️‍🌈']) {
      expect(joinedPictures(`ab ${picture} c`)).toEqual([[3, 3 + picture.length]])
    }
  })

  it('leaves everything else alone', () => {
    expect(joinedPictures('plain → ✅ ❌ ⏳ ☁️ 漢字 e\u0301 🎉🎉 12 #️⃣ a\u200db 🇩')).toEqual([])
  })

  it('tells neighbours apart', () => {
    expect(joinedPictures('🇩🇪🇫🇷👍🏽👍🏽')).toEqual([
      [0, 4],
      [4, 8],
      [8, 12],
      [12, 16],
    ])
  })
})
