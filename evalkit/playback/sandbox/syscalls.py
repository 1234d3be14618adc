"""The system calls that a sandboxed agent is refused, with their numbers on x86-64 and arm64.

Numbers: Linux's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h; None: not there.
"""

from __future__ import annotations

from evalkit.playback.sandbox.kernel import arm

__all__ = ["CONDITIONAL", "IGNORED", "LAST_KNOWN", "REFUSED", "number"]

LAST_KNOWN = 450
"""Later calls are answered "no such call": libraries fall back, and none can bring a new way out."""

_Numbers = tuple[int | None, int | None]

REFUSED: dict[str, _Numbers] = {
    # starting programs and processes
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    # the network, and sockets of other processes
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202),
    "accept4": (288, 242), "sendmmsg": (307, 269),
    # other processes
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "setpriority": (141, 140),
    "ioprio_set": (251, 30), "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "kcmp": (312, 272),
    "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118),
    "sched_setattr": (314, 274), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "msgget": (68, 186), "msgsnd": (69, 189),
    "msgrcv": (70, 188), "msgctl": (71, 187), "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191),
    "semtimedop": (220, 192), "mq_open": (240, 180), "mq_unlink": (241, 181),
    # a second way to make system calls, programs in the kernel, watching it
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "fanotify_init": (300, 262), "syslog": (103, 116),
    # another view of the file system
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "open_tree": (428, 428), "move_mount": (429, 429), "mount_setattr": (442, 442), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264), "quotactl": (179, 60), "quotactl_fd": (443, 443), "mknod": (133, None),
    "mknodat": (259, 33),
    # metadata of files that Landlock lets stand: owners and attributes
    "chown": (92, None), "lchown": (94, None), "fchown": (93, 55), "fchownat": (260, 54), "setxattr": (188, 5),
    "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    # what Landlock before Linux 6.2 lets stand, watching others' files, and an open call whose flags can't be seen
    "truncate": (76, 45), "inotify_init": (253, None), "inotify_init1": (294, 26),
    # the machine
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "sethostname": (170, 161),
    "setdomainname": (171, 162), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "acct": (163, 89), "iopl": (172, None), "ioperm": (173, None),
    "personality": (135, 92), "modify_ldt": (154, None), "vhangup": (153, 58), "uselib": (134, None),
}  # fmt: skip

IGNORED: dict[str, _Numbers] = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "utime": (132, None), "utimes": (235, None),
    "utimensat": (280, 88), "futimesat": (261, None),
}  # fmt: skip
"""Answered "done", and nothing is done: Landlock does not govern modes and times, and `shutil.copy` insists on them."""

CONDITIONAL: dict[str, _Numbers] = {
    "clone": (56, 220), "clone3": (435, 435), "socketpair": (53, 199), "sendto": (44, 206), "kill": (62, 129),
    "tgkill": (234, 131), "prlimit64": (302, 261), "ioctl": (16, 29), "fcntl": (72, 25), "open": (2, None),
    "openat": (257, 56), "openat2": (437, 437),
}  # fmt: skip
"""Judged by their arguments, in `seccomp`."""


def number(numbers: _Numbers) -> int | None:
    """A call's number on this machine; None where the machine has no such call."""
    return numbers[1 if arm() else 0]
