package pty

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)

// sessionGroups lists the process groups of a process session, that of its
// leader first. Zombies are left out: they hear no signal.
func sessionGroups(session int) []int {
	var groups []int
	directory, err := os.Open("/proc")
	if err != nil {
		return []int{session}
	}
	defer directory.Close()
	names, _ := directory.Readdirnames(-1) // what was read is used
	for _, name := range names {
		if _, err := strconv.Atoi(name); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it ended since
		}
		state, group, of := parseStat(string(stat))
		if of == session && state != "Z" && state != "X" && group > 0 && !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	if i := slices.Index(groups, session); i > 0 {
		groups[0], groups[i] = groups[i], groups[0]
	}
	return groups
}

// parseStat reads state, process group and process session from
// /proc/PID/stat, whose second field may hold any character.
func parseStat(stat string) (state string, group, session int) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 {
		return "", 0, 0
	}
	group, _ = strconv.Atoi(fields[2])
	session, _ = strconv.Atoi(fields[3])
	return fields[0], group, session
}
