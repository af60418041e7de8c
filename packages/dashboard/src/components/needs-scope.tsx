/** Shown instead of something that the session's key does not allow: which scope is missing, and how to get it. */
import { Code } from '@mantine/core';
import { IconLock } from '@tabler/icons-react';
import type { Scope } from '@darkroom/api/facts/scopes';
import { texts } from '../texts/needs-scope.ts';
import { EmptyState } from './states.tsx';

/** @param action requires the scope: “manage keys”. */
export function NeedsScope({ scope, action }: { readonly scope: Scope; readonly action: string }) {
  return (
    <EmptyState icon={<IconLock size={32} aria-hidden />} title={texts.title(action)}>
      {texts.lacks} <Code>{scope}</Code>. {texts.remedy}
    </EmptyState>
  );
}
