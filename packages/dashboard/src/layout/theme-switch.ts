/** Switches between the light and the dark theme. */
import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { IconMoon, IconSun } from '@tabler/icons-react';
import { texts } from '../texts/common.ts';

/** The theme that can be switched to: its name, its icon, and the switch. */
export function useThemeSwitch() {
  const isDark = useComputedColorScheme('light') === 'dark';
  const { setColorScheme } = useMantineColorScheme();
  return {
    label: isDark ? texts.lightTheme : texts.darkTheme,
    Icon: isDark ? IconSun : IconMoon,
    switchTheme: () => setColorScheme(isDark ? 'light' : 'dark'),
  };
}
