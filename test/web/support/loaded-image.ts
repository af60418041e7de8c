/** Whether an image is loaded and decoded, and not only its frame shown. */
import type { Locator } from 'playwright-core';
import { waitFor } from '@darkroom/testing/wait-for';

/** Waits until it has pixels. @throws {Error} it never gets any. */
export async function waitForImage(image: Locator): Promise<void> {
  await waitFor('the image is loaded', async () =>
    image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth > 0),
  );
}
