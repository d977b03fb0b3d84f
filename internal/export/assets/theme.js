// Runs before anything is shown: a reader who chose a theme sees no flash of the other.
try {
  const theme = localStorage.getItem("isotope.export.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* storage is forbidden: the system's theme it is */ }
