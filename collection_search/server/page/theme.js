// Sets the chosen theme before anything is drawn; without a choice the system's holds.
try {
  const theme = localStorage.getItem("cs.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* storage is closed: the system's theme holds */ }
