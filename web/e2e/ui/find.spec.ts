import type { Page } from '@playwright/test'
import { desk, drawn, expect, phone, test } from './app'

test.use({ serviceWorkers: 'block' })

/** The text that is marked as found, and whether it is in view. */
function marked(page: Page): Promise<{ text: string; seen: boolean }> {
  return page.evaluate(() => {
    const [range] = CSS.highlights.get('found') ?? []
    const view = document.querySelector('[role=log][tabindex]')?.getBoundingClientRect()
    const at = range instanceof Range ? range.getBoundingClientRect() : null
    return {
      text: range?.toString() ?? '',
      seen: at !== null && view !== undefined && at.top >= view.top && at.bottom <= view.bottom,
    }
  })
}

test.describe('on a phone', () => {
  test.use(phone)

  test('finds a text on the screen and in all of the history, and goes from one to the next', async ({
    page,
  }) => {
    await page.goto('/s/mac-mini/refactor-auth')
    await drawn(page, 'accept edits on')
    await page.getByRole('button', { name: 'Session menu' }).tap()
    await page.getByRole('menuitem', { name: 'Find…' }).tap()
    const field = page.getByLabel('Find in this session').last()
    await expect(field).toBeFocused()
    const older = page.getByRole('button', { name: 'Older match' })
    const newer = page.getByRole('button', { name: 'Newer match' })
    const text = page.getByRole('log', { name: 'Text of the session' })

    await field.fill('INTERNAL/')
    // Two on the screen, and ten lines of the history in the first answer.
    await expect(page.getByText('1 of 12+')).toBeVisible()
    await expect.poll(() => marked(page)).toEqual({ text: 'internal/', seen: true })
    await older.tap()
    await older.tap()
    await expect(page.getByText('3 of 12+')).toBeVisible()
    await expect.poll(() => marked(page)).toEqual({ text: 'internal/', seen: true })
    await newer.tap()
    await expect(page.getByText('2 of 12+')).toBeVisible()

    // A line that is far above what was fetched.
    await field.fill('pkg17 ')
    await expect(page.getByText('1 of 1', { exact: true })).toBeVisible()
    await expect.poll(() => marked(page)).toEqual({ text: 'pkg17 ', seen: true })
    await expect(text).toContainText('The beginning of what is kept')
    await expect(text).not.toContainText('accept edits on')
    await page.getByRole('button', { name: 'To the newest line' }).tap()
    await expect(text).toContainText('accept edits on')

    await field.fill('no such text')
    await expect(page.getByText('None')).toBeVisible()
    await expect(older).toBeDisabled()
    await page.getByRole('button', { name: 'End the search' }).tap()
    await page.getByRole('button', { name: 'Back to the terminal' }).tap()
    await expect(text).toBeHidden()
    await drawn(page, 'accept edits on')
  })

  test('without a connection it finds what is here, and says what it did not search', async ({ page }) => {
    await page.goto('/s/mac-mini/refactor-auth?v=find')
    await expect(page.getByRole('log', { name: 'Text of the session' })).toContainText('pkg3000')
    await page.evaluate(() => window.mock.cut(true))
    await page.getByLabel('Find in this session').last().fill('go vet')
    await expect(page.getByText(/Earlier lines were not searched/)).toBeVisible()
    await expect.poll(() => marked(page)).toEqual({ text: 'go vet', seen: true })
  })
})

test.describe('at a desk', () => {
  test.use(desk)

  test('opens from the header, and Enter goes on', async ({ page }) => {
    await page.goto('/s/mac-mini/refactor-auth')
    await drawn(page, 'accept edits on')
    await page.getByRole('button', { name: 'Find in this session' }).click()
    const field = page.getByRole('searchbox', { name: 'Find in this session' })
    await field.fill('pkg29')
    await expect(page.getByText('1 of 10+')).toBeVisible()
    await field.press('Enter')
    await expect(page.getByText('2 of 10+')).toBeVisible()
    await field.press('Shift+Enter')
    await expect(page.getByText('1 of 10+')).toBeVisible()
    await field.press('Escape')
    await expect(field).toBeHidden()
  })
})
