/** Shown for a URL without a page. */
import { Button } from '@mantine/core';
import { Link } from 'wouter';
import { EmptyState } from '../components/states.tsx';
import { texts } from '../texts/common.ts';

export function NotFoundPage() {
  return (
    <EmptyState
      order={1}
      title={texts.pageNotFound}
      action={
        <Button component={Link} href="/" variant="default">
          {texts.toFirstPage}
        </Button>
      }
    >
      {texts.pageNotFoundHint}
    </EmptyState>
  );
}
